/** Loads all samples, in the order in which a partner would: attributes first, then the audiences of a customer. */
import { apiUrl } from '../local/service.ts';
import type { Stack } from '../local/stack.ts';
import { type Client, createClient } from './client.ts';
import { queueAndFollow, uploadSamples } from './load.ts';
import type { DemoPartner, DemoReport } from './provision.ts';
import { audiences, type DemoAudience, marketplaceSample, type Sample } from './samples.ts';
import type { Screen } from './screen.ts';

export const importPath = '/v1/marketplace/import';
export const audiencePath = '/v2/firstparty/audience';

interface Following {
  client: Client;
  screen: Screen;
  signal: AbortSignal;
}

/** A start that was interrupted may have created it: then what is missing of it is appended, and the rest is ignored. */
async function findAudience(client: Client, name: string): Promise<DemoReport | undefined> {
  const { body } = await client.get(audiencePath);
  const known = body as unknown as (DemoReport & { name: string })[];
  return known.find((audience) => audience.name === name);
}

async function loadAudience({ name, loads }: DemoAudience, following: Following): Promise<DemoReport> {
  const { client } = following;
  let report = await findAudience(client, name);
  const create = async ({ path }: Sample) => {
    const answer = await client.post(audiencePath, { name, file_path: path });
    report = answer.body as unknown as DemoReport;
    // The first load has the audience's number.
    return answer.location === undefined
      ? answer
      : { ...answer, location: `${answer.location}/loads/${report.audience_id}` };
  };
  const append = ({ path }: Sample) =>
    client.patch(`${audiencePath}/${report!.audience_id}`, { file_path: path });
  for (const sample of loads) {
    const queue = () => (report ? append(sample) : create(sample));
    if (!(await queueAndFollow({ ...following, title: `${name}, ${sample.path}`, queue })))
      throw new Error(`the demo could not load ${sample.path}; see the logs`);
  }
  return report!;
}

/** Returns the audience to look at: the last one. */
export async function loadSamples(
  { folder, addresses }: Stack,
  partner: DemoPartner,
  token: string,
  following: Omit<Following, 'client'>,
): Promise<DemoReport> {
  const samples = [marketplaceSample, ...audiences.flatMap(({ loads }) => loads)];
  await uploadSamples(partner, addresses.s3.endpoint, samples);
  following.screen.step(`uploaded ${samples.length} sample files with the partner’s own credentials`);
  const client = createClient(apiUrl(folder), partner.api_key);
  await queueAndFollow({
    ...following,
    client,
    title: `marketplace import, ${marketplaceSample.path}`,
    queue: () => client.post(importPath, { file_path: marketplaceSample.path, key_type: 1 }),
  });
  const ofCustomer = createClient(apiUrl(folder), partner.api_key, token);
  let report: DemoReport | undefined;
  for (const audience of audiences)
    report = await loadAudience(audience, { ...following, client: ofCustomer });
  // So that the report is ready when it is opened.
  await ofCustomer.get(`${audiencePath}/${report!.audience_id}/composition`);
  return report!;
}
