/** Uploads the samples with the partner's storage keys and loads them: attributes first, then the customer's audiences. */
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { type ApiClient, audiencePath, importPath } from '../../api/client/client.ts';
import { plural } from '../../api/client/format.ts';
import { ApiProblem } from '../../api/client/problem.ts';
import type { Audience, ImportLog, Load } from '../../api/client/types.ts';
import { isOpen, statusWords } from '../../api/client/words.ts';
import { apiUrl } from '../local/service.ts';
import type { Stack } from '../local/stack.ts';
import { poll } from '../local/wait.ts';
import { apiOf, type DemoPartner, type DemoReport } from './provision.ts';
import { audiences, type DemoAudience, marketplaceSample, type Sample } from './samples.ts';
import type { Screen } from './screen.ts';

const LOAD_MS = 600_000;

interface Environment {
  api: ApiClient;
  screen: Screen;
  signal: AbortSignal;
}

async function uploadSamples(
  { s3 }: DemoPartner,
  endpoint: string,
  samples: readonly Sample[],
): Promise<void> {
  const client = new S3Client({
    region: s3.region,
    // The current endpoint: the port may have changed since the credentials were issued.
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    credentials: { accessKeyId: s3.access_key_id, secretAccessKey: s3.secret_access_key },
  });
  try {
    for (const { path, text } of samples)
      await client.send(
        new PutObjectCommand({
          Bucket: s3.bucket,
          Key: s3.prefix + path,
          Body: text,
          ContentType: 'text/csv',
        }),
      );
  } finally {
    client.destroy();
  }
}

/** Submits a load and follows the record at the returned path. Returns false if the load was refused or failed. */
async function submitAndFollow(
  { api, screen, signal }: Environment,
  title: string,
  submit: () => Promise<string>,
): Promise<boolean> {
  const since = Date.now();
  const fail = (reason: string) => {
    screen.failed(`${title}: ${reason}`);
    return false;
  };
  try {
    const path = await submit();
    const ended = await poll(
      async () => {
        const { data } = await api.get<ImportLog | Load>(path);
        if (!isOpen(data.status)) return data;
        screen.progress(
          `${title}: ${statusWords[data.status].toLowerCase()}, ${plural(Number(data.total_rows), 'row')}`,
        );
        return undefined;
      },
      { deadlineMs: LOAD_MS, everyMs: 100, signal },
    );
    if (!ended) return fail(`not done after ${LOAD_MS / 1000} s; see the logs`);
    if (ended.status === 3) return fail(`failed, ${JSON.stringify(ended.errors)}`);
    const seconds = ((Date.now() - since) / 1000).toFixed(1);
    screen.done(
      `${title}: done in ${seconds} s, ${plural(Number(ended.total_rows), 'row')}, ${plural(Number(ended.unique_devices), 'device')}`,
    );
    return true;
  } catch (error) {
    if (error instanceof ApiProblem) return fail(`refused with ${error.status}: ${error.message}`);
    throw error;
  }
}

async function loadAudience({ name, loads }: DemoAudience, environment: Environment): Promise<DemoReport> {
  const { api } = environment;
  // If an interrupted start has created it, append the missing files.
  let report: DemoReport | undefined = (await api.get<Audience[]>(audiencePath)).data.find(
    (audience) => audience.name === name,
  );
  const create = async (file_path: string) => {
    report = (await api.change<DemoReport>('POST', audiencePath, { name, file_path })).data;
    // The first load has the id of its audience.
    return `${audiencePath}/${report.audience_id}/loads/${report.audience_id}`;
  };
  const append = async (audience: number, file_path: string) =>
    (await api.change('PATCH', `${audiencePath}/${audience}`, { file_path })).location!;
  for (const { path } of loads) {
    const submit = () => (report ? append(report.audience_id, path) : create(path));
    if (!(await submitAndFollow(environment, `${name}, ${path}`, submit)))
      throw new Error(`the demo could not load ${path}; see the logs`);
  }
  return report!;
}

/** Returns the audience to show: the last one. */
export async function loadSamples(
  { folder, addresses }: Stack,
  partner: DemoPartner,
  token: string,
  environment: Omit<Environment, 'api'>,
): Promise<DemoReport> {
  const samples = [marketplaceSample, ...audiences.flatMap(({ loads }) => loads)];
  await uploadSamples(partner, addresses.s3.endpoint, samples);
  environment.screen.say(`uploaded ${samples.length} sample files with the partner’s own credentials`);
  const api = apiOf(apiUrl(folder), partner);
  const { path } = marketplaceSample;
  await submitAndFollow(
    { ...environment, api },
    `marketplace import, ${path}`,
    async () => (await api.change('POST', importPath, { file_path: path, key_type: 1 })).location!,
  );
  const ofCustomer = apiOf(apiUrl(folder), partner, token);
  let report: DemoReport | undefined;
  for (const audience of audiences)
    report = await loadAudience(audience, { ...environment, api: ofCustomer });
  // Compute the report now, so that the console shows it at once.
  await ofCustomer.get(`${audiencePath}/${report!.audience_id}/composition`);
  return report!;
}
