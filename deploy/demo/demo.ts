/** `headrace demo`, run by `npm start`: starts the whole service, creates a partner and loads sample files. */
import { audiencePath, importPath } from '../../api/client/client.ts';
import { endSilentlyOnClosedPipe } from '../../pipeline/runtime/terminal.ts';
import {
  abortOnSignal,
  howToStop,
  keepUntilStopped,
  startStack,
  type UpOptions,
} from '../cli/local/start-stack.ts';
import { whereIsLog } from '../local/docker.ts';
import { serversOf, single } from '../local/names.ts';
import { ownStack } from '../local/owner.ts';
import { apiUrl, consoleUrl, docsUrl } from '../local/service.ts';
import { type Stack, takeDown } from '../local/stack.ts';
import type { StateFolder } from '../local/state.ts';
import { loadSamples } from './load-samples.ts';
import {
  apiOf,
  CUSTOMER,
  customerToken,
  type DemoPartner,
  type DemoReport,
  demoPartner,
  tryGet,
} from './provision.ts';
import { marketplaceSample } from './samples.ts';
import { createScreen, type Screen } from './screen.ts';

/** Loads the samples at the first start; later starts show the same audience. */
async function ensureLoaded(
  stack: Stack,
  partner: DemoPartner,
  token: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<DemoReport> {
  const { audience } = partner;
  if (audience) {
    const api = apiOf(apiUrl(stack.folder), partner);
    if (await tryGet(api, `${audiencePath}/${audience.audience_id}`)) {
      screen.say('using the sample data from the last start');
      return audience;
    }
  }
  const loaded = await loadSamples(stack, partner, token, { screen, signal });
  stack.folder.state.demo = { ...partner, audience: loaded };
  stack.folder.save();
  return loaded;
}

const serverLogs = (folder: StateFolder) =>
  serversOf(single).map((name) => `           ${whereIsLog(folder, name)}`);

function showAddresses({ addresses, folder }: Stack, partner: DemoPartner | undefined, screen: Screen): void {
  const s3 = partner?.s3;
  screen.panel('headrace is running', [
    `API        ${apiUrl(folder)}`,
    `reference  ${docsUrl(folder)}`,
    `console    ${consoleUrl(folder)}`,
    ...(partner ? [`API key    ${partner.api_key}`] : []),
    `Kafka      ${addresses.kafkaBrokers.join(',')}`,
    `MongoDB    ${addresses.mongoUrl}`,
    `S3         ${addresses.s3.endpoint || 'AWS'}${s3 ? `   s3://${s3.bucket}/${s3.prefix}` : ''}`,
    ...(s3 ? [`S3 keys    ${s3.access_key_id}   ${s3.secret_access_key}`] : []),
    `logs       ${folder.directory}/logs`,
    ...(folder.state.runtime === 'docker' ? serverLogs(folder) : []),
  ]);
}

/** curl can sign S3 requests, so no other tool is needed; older versions omit the header. */
function uploadCommand({ s3 }: DemoPartner, endpoint: string, file: string): string {
  const bucket = endpoint ? `${endpoint}/${s3.bucket}` : `https://${s3.bucket}.s3.${s3.region}.amazonaws.com`;
  const keys = `--user '${s3.access_key_id}:${s3.secret_access_key}'`;
  const signed = `--aws-sigv4 'aws:amz:${s3.region}:s3' -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' ${keys}`;
  return `curl -sf ${signed} -T ${file} ${bucket}/${s3.prefix}${file}`;
}

function showCommands(
  { folder, addresses }: Stack,
  partner: DemoPartner,
  { audience_id }: DemoReport,
  link: string,
  screen: Screen,
): void {
  const url = apiUrl(folder);
  const key = `-H 'Authorization: Bearer ${partner.api_key}'`;
  const post = (body: object, path: string) =>
    `curl -s ${key} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' ${url}${path}`;
  screen.commands([
    '# list the last imports',
    `curl -s ${key} ${url}${importPath}`,
    '# show the audience, and its composition report',
    `curl -s ${key} ${url}${audiencePath}/${audience_id}`,
    `curl -s ${key} ${url}${audiencePath}/${audience_id}/composition`,
    '# queue another import',
    post({ file_path: marketplaceSample.path, key_type: 1 }, importPath),
    '# upload your own file (rows such as 8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11,visit), and load it as an audience',
    uploadCommand(partner, addresses.s3.endpoint, 'visitors.csv'),
    post({ name: 'My visitors', file_path: 'visitors.csv' }, audiencePath),
    `# the audience’s report in the console, signed in as its customer, ${CUSTOMER}`,
    link,
  ]);
}

/** Creates the partner, loads the samples, and shows how to use them. */
async function present(stack: Stack, screen: Screen, signal: AbortSignal): Promise<void> {
  const { partner, made } = await demoPartner(stack, apiUrl(stack.folder));
  screen.say(
    made
      ? `created partner ${partner.partner_id}`
      : `using partner ${partner.partner_id} from the last start`,
  );
  const token = await customerToken(stack, partner);
  const report = await ensureLoaded(stack, partner, token, screen, signal);
  showAddresses(stack, partner, screen);
  const link = `${consoleUrl(stack.folder)}segments/${report.default_warehouse_segment_id}?token=${token}`;
  showCommands(stack, partner, report, link, screen);
}

export async function demo(options: UpOptions): Promise<void> {
  const controller = abortOnSignal();
  const { signal } = controller;
  endSilentlyOnClosedPipe(() => controller.abort());
  const screen = createScreen(process.stdout);
  const since = Date.now();
  screen.say('headrace');
  const others = ownStack(options.state);
  const stack = await startStack(options, screen.say, signal);
  try {
    screen.done(`up after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    // The samples may still be loading in another terminal.
    if (others?.pid === undefined) await present(stack, screen, signal);
    else showAddresses(stack, stack.folder.state.demo as DemoPartner | undefined, screen);
    if (others) screen.say(howToStop(others, options.state));
    else {
      screen.say('Ctrl-C stops everything; the next start uses the same data');
      await keepUntilStopped(options.state, screen.failed, signal);
    }
  } catch (error) {
    if (!others) await takeDown(options.state, screen.say);
    if ((error as Error).name !== 'AbortError') throw error;
  }
  process.exit(0);
}
