/** `headrace demo`, which is what `npm start` runs: starts the whole service, creates a partner and loads two sample files. */
import { abortOnSignal, startStack, stayUntilStopped, type UpOptions } from '../cli/up.ts';
import { apiUrl } from '../local/service.ts';
import { type Stack, takeDown } from '../local/stack.ts';
import { createClient } from './client.ts';
import { queueAndFollow, uploadSamples } from './load.ts';
import { type DemoPartner, demoPartner } from './provision.ts';
import { audienceSample, marketplaceSample } from './samples.ts';
import { createScreen, type Screen } from './screen.ts';

const importPath = '/v1/marketplace/import';
const audiencePath = '/v2/firstparty/audience';

/** Returns the API path of the last load. */
async function loadSamples(
  stack: Stack,
  partner: DemoPartner,
  screen: Screen,
  signal: AbortSignal,
): Promise<string> {
  const url = apiUrl(stack.folder);
  const client = createClient(url, partner.api_key);
  const samples = [marketplaceSample, audienceSample];
  await uploadSamples(partner, stack.addresses.s3.endpoint, samples);
  screen.step(
    `uploaded ${samples.map(({ path, rows }) => `${path} (${rows} rows)`).join(' and ')} with the partner’s own credentials`,
  );
  const importId = await queueAndFollow({
    title: 'marketplace import',
    client,
    screen,
    signal,
    queue: {
      path: importPath,
      body: { file_path: marketplaceSample.path, key_type: 1 },
      idField: 'import_log_id',
    },
    counts: (log) => `${log.total_rows} rows, ${log.unique_devices} devices`,
  });
  const audienceId = await queueAndFollow({
    title: 'audience',
    client,
    screen,
    signal,
    queue: {
      path: audiencePath,
      body: { name: 'Demo visitors', file_path: audienceSample.path },
      idField: 'audience_id',
    },
    counts: (audience) =>
      `${audience.uploaded_devices} rows, ${audience.unique_devices} devices, ${audience.matched_devices} of them in the marketplace`,
  });
  return audienceId === undefined ? `${importPath}/${importId}` : `${audiencePath}/${audienceId}`;
}

function showAddresses(stack: Stack, partner: DemoPartner, screen: Screen): void {
  const { addresses, folder } = stack;
  screen.panel('headrace is running', [
    `API      ${apiUrl(folder)}`,
    `API key  ${partner.api_key}`,
    `Kafka    ${addresses.kafkaBrokers.join(',')}`,
    `MongoDB  ${addresses.mongoUrl}`,
    `S3       ${addresses.s3.endpoint || 'AWS'}   s3://${partner.s3.bucket}/${partner.s3.prefix}`,
    `logs     ${folder.directory}/logs`,
  ]);
}

/** Printed without a frame, so that they can be copied. */
function showCommands(url: string, partner: DemoPartner, last: string, screen: Screen): void {
  const key = `-H 'Authorization: Bearer ${partner.api_key}'`;
  const body = JSON.stringify({ file_path: marketplaceSample.path, key_type: 1 });
  screen.plain([
    '# list the last imports',
    `curl -s ${key} ${url}${importPath}`,
    '# queue another import',
    `curl -s ${key} -H 'Content-Type: application/json' -d '${body}' ${url}${importPath}`,
    '# show the last load',
    `curl -s ${key} ${url}${last}`,
  ]);
}

export async function demo(options: UpOptions): Promise<void> {
  const { signal } = abortOnSignal();
  const screen = createScreen(process.stdout);
  const since = Date.now();
  screen.open('headrace');
  const stack = await startStack(options, screen.step, signal);
  const stop = () => takeDown(options.state, screen.step);
  try {
    const url = apiUrl(stack.folder);
    const { partner, made } = await demoPartner(stack, url);
    screen.step(
      made
        ? `created partner ${partner.partner_id}`
        : `using partner ${partner.partner_id} from the last start`,
    );
    screen.done(`up after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    const last = await loadSamples(stack, partner, screen, signal);
    showAddresses(stack, partner, screen);
    showCommands(url, partner, last, screen);
    screen.close('Ctrl-C stops everything; the next start uses the same data');
    await stayUntilStopped(options.state, screen.failed, signal);
  } catch (error) {
    if ((error as Error).name !== 'AbortError') {
      await stop();
      throw error;
    }
  }
  await stop();
  process.exit(0);
}
