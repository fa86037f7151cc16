/** Partners' own storage that stalls: A's files are listed but their reads hang, and another partner's listing hangs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import type { Fault, FaultyProxy, SeenRequest } from '../../sources/faulty-proxy.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkImport } from '../check-counts.ts';
import { count } from '../format.ts';
import { createUploader, fileName } from '../upload.ts';
import type { Situation } from './situation.ts';

const ROWS = 100;
const FOLDER = 'stalled/';
const everyMs = 100;

type Partner = Awaited<ReturnType<Bench['stack']['anotherPartner']>>;

async function uploadFor({ stack }: Bench, { partner }: Partner, seed: number, files: number): Promise<void> {
  const keys = (await stack.attributes(1, partner)).map(String);
  const generator = createGenerator({ seed, duplicates: 0, keys });
  const uploader = createUploader(partner);
  for (let number = 0; number < files; number++)
    await uploader.put(FOLDER + fileName(number, false), generator.nextFile({ rows: ROWS }).bytes);
  uploader.close();
}

/** Uses the shared bucket as the partner's own. */
function queueFor({ partner: { s3 }, calls }: Partner): Promise<number> {
  const credentials = {
    accessKeyId: s3.access_key_id!,
    secretAccessKey: s3.secret_access_key!,
    region: s3.region,
  };
  return calls.queueOwn(`s3://${s3.bucket}/${s3.prefix}${FOLDER}`, credentials);
}

const isListing = ({ path }: SeenRequest) => path.includes('list-type=2');
const readsOf = (partner: Partner) => (request: SeenRequest) =>
  request.method === 'GET' && request.path.includes(`/${partner.partner.s3.prefix}`) && !isListing(request);
const listingsOf = (partner: Partner) => (request: SeenRequest) =>
  isListing(request) && request.path.includes(encodeURIComponent(partner.partner.s3.prefix));

/** Returns a function that releases the requests. */
function silence({ rules }: FaultyProxy, isMeant: (request: SeenRequest) => boolean): () => void {
  const rule = (request: SeenRequest): Fault | undefined =>
    isMeant(request) ? { kind: 'silence' } : undefined;
  rules.add(rule);
  return () => void rules.delete(rule);
}

export const stalled: Situation = {
  name: 'stalled',
  size: 200,
  describe: (size) => `storage that answers no read of ${count(size)} files, and one that answers no listing`,
  hasSpeed: false,
  async prepare({ bench, size, seed, ownStorage }) {
    const { stack, signal, progress } = bench;
    const reading: Partner = stack;
    const listing = await stack.anotherPartner();
    await uploadFor(bench, reading, seed, size);
    await uploadFor(bench, listing, seed + 1, 1);
    const checks: CountCheck[] = [];
    let onBegun = () => {};
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    return {
      begun,
      async until(isEnough) {
        const isMeant = [readsOf(reading), listingsOf(listing)];
        const letGo = isMeant.map((meant) => silence(ownStorage, meant));
        try {
          const ids = [await queueFor(reading), await queueFor(listing)];
          while (!ownStorage.seen.some(isMeant[0]!)) await sleep(everyMs, undefined, { signal });
          onBegun();
          while (!isEnough()) await sleep(everyMs, undefined, { signal });
          const requests = isMeant.map((meant) => ownStorage.seen.filter(meant).length);
          progress.step(`unanswered: ${requests[0]} reads, ${requests[1]} listings`);
          for (const pass of letGo) pass();
          const wait = { everyMs, signal };
          const read = await reading.calls.untilDone('a', ids[0]!, wait);
          const listed = await listing.calls.untilDone('a', ids[1]!, wait);
          checks.push(...checkImport(read, size * ROWS, size * ROWS), ...checkImport(listed, ROWS, ROWS));
        } finally {
          for (const pass of letGo) pass();
        }
        return [];
      },
      checks: async () => checks,
    };
  },
};
