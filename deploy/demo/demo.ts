/** `headrace demo`, which is what `npm start` runs: starts the whole service, creates a partner and loads sample files. */
import { abortOnSignal, startStack, stayUntilStopped, type UpOptions } from '../cli/up.ts';
import { apiUrl, consoleUrl } from '../local/service.ts';
import { type Stack, takeDown } from '../local/stack.ts';
import { createClient } from './client.ts';
import { audiencePath, importPath, loadSamples } from './load-samples.ts';
import { CUSTOMER, customerToken, type DemoPartner, type DemoReport, demoPartner } from './provision.ts';
import { marketplaceSample } from './samples.ts';
import { createScreen, type Screen } from './screen.ts';

/** Loaded at the first start, and kept: the next start shows the same audience. */
async function ensureLoaded(
  stack: Stack,
  partner: DemoPartner,
  token: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<DemoReport> {
  const { audience } = partner;
  if (audience) {
    const { status } = await createClient(apiUrl(stack.folder), partner.api_key).get(
      `${audiencePath}/${audience.audience_id}`,
    );
    if (status === 200) {
      screen.step('using the sample data from the last start');
      return audience;
    }
  }
  const loaded = await loadSamples(stack, partner, token, { screen, signal });
  stack.folder.state.demo = { ...partner, audience: loaded };
  stack.folder.save();
  return loaded;
}

function showAddresses(stack: Stack, partner: DemoPartner, screen: Screen): void {
  const { addresses, folder } = stack;
  screen.panel('headrace is running', [
    `API      ${apiUrl(folder)}   reference: ${apiUrl(folder)}/docs`,
    `console  ${consoleUrl(folder)}`,
    `API key  ${partner.api_key}`,
    `Kafka    ${addresses.kafkaBrokers.join(',')}`,
    `MongoDB  ${addresses.mongoUrl}`,
    `S3       ${addresses.s3.endpoint || 'AWS'}   s3://${partner.s3.bucket}/${partner.s3.prefix}`,
    `logs     ${folder.directory}/logs`,
  ]);
}

/** Printed without a frame, so that they can be copied. */
function showCommands(
  url: string,
  partner: DemoPartner,
  { audience_id }: DemoReport,
  link: string,
  screen: Screen,
): void {
  const key = `-H 'Authorization: Bearer ${partner.api_key}'`;
  const body = JSON.stringify({ file_path: marketplaceSample.path, key_type: 1 });
  screen.plain([
    '# list the last imports',
    `curl -s ${key} ${url}${importPath}`,
    '# show the audience, and what it is composed of',
    `curl -s ${key} ${url}${audiencePath}/${audience_id}`,
    `curl -s ${key} ${url}${audiencePath}/${audience_id}/composition`,
    '# queue another import',
    `curl -s ${key} -H 'Content-Type: application/json' -d '${body}' ${url}${importPath}`,
    `# the audience’s report in the console, signed in as its customer, ${CUSTOMER}`,
    link,
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
    const token = await customerToken(stack, partner);
    const report = await ensureLoaded(stack, partner, token, screen, signal);
    showAddresses(stack, partner, screen);
    const link = `${consoleUrl(stack.folder)}segments/${report.default_warehouse_segment_id}?token=${token}`;
    showCommands(url, partner, report, link, screen);
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
