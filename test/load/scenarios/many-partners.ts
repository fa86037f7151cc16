/** Many partners with a few small jobs each, all queued before the pipeline starts: measures fairness. */
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { stageNames } from '../../../schemas/stages.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience, checkImport } from '../check-counts.ts';
import { inParallel } from '../in-parallel.ts';
import type { Layout, PartnerCalls } from '../partner-calls.ts';
import { startStages, stopAll } from '../stage-processes.ts';
import { uploadFile } from '../upload.ts';

const ROWS = 1_000;
const JOBS = 10;
const PATH = 'small.csv';
const IN_FLIGHT = 8;
const everyMs = 200;

interface Queued {
  readonly calls: PartnerCalls;
  readonly jobs: { readonly layout: Layout; readonly id: number }[];
}

async function preparePartner({ stack }: Bench, seed: number): Promise<Queued> {
  const { partner, calls } = await stack.anotherPartner();
  const keys = (await stack.attributes(1, partner)).map(String);
  const { bytes } = createGenerator({ seed, duplicates: 0, keys }).nextFile({ rows: ROWS });
  await uploadFile(partner, PATH, bytes);
  return { calls, jobs: [] };
}

async function queueAll({ progress, signal }: Bench, partners: readonly Queued[]): Promise<void> {
  // Queued partner by partner: a service with a single queue would serve the last partner last.
  for (const [number, { calls, jobs }] of partners.entries()) {
    signal.throwIfAborted();
    for (let job = 0; job < JOBS; job++) {
      const layout = job % 2 === 0 ? 'b' : 'a';
      jobs.push({ layout, id: await calls.queue(layout, PATH) });
    }
    progress.live(`queued the jobs of ${number + 1} of ${partners.length} partners`);
  }
  progress.step(`queued ${JOBS} jobs of each of ${partners.length} partners`);
}

/** When each job ended, in milliseconds. */
async function endsOf({ calls, jobs }: Queued, { signal }: Bench, checks: CountCheck[]): Promise<number[]> {
  const ends: number[] = [];
  for (const { layout, id } of jobs) {
    const record = await calls.untilDone(layout, id, { everyMs, signal });
    ends.push(Date.parse(String(record.updated_at)));
    checks.push(...(layout === 'a' ? checkImport : checkAudience)(record, ROWS, ROWS));
  }
  return ends;
}

interface PartnersResult {
  readonly jobsPerSecond: number;
  /** Jobs/s of each partner, from the first end of any job to the partner's own last end; until then every partner has jobs queued. */
  readonly rates: number[];
  readonly mean: number;
  readonly smallest: number;
  readonly checks: CountCheck[];
}

export async function measurePartners(bench: Bench, count: number, seed: number): Promise<PartnersResult> {
  const { stack, progress } = bench;
  const partners: Queued[] = [];
  await inParallel(count, IN_FLIGHT, async (number) => {
    partners[number] = await preparePartner(bench, seed + 1 + number);
    progress.live(`prepared ${number + 1} of ${count} partners`);
  });
  await stack.stopPipeline();
  await queueAll(bench, partners);
  const pipeline = await startStages(bench, stageNames);
  try {
    const checks: CountCheck[] = [];
    const ends: number[][] = [];
    for (const [number, partner] of partners.entries()) {
      ends.push(await endsOf(partner, bench, checks));
      progress.live(`the jobs of ${number + 1} of ${count} partners are done`);
    }
    const first = Math.min(...ends.flat());
    const seconds = ends.map((own) => Math.max(1, Math.max(...own) - first) / 1_000);
    const rates = seconds.map((took) => JOBS / took);
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / count;
    const jobsPerSecond = (count * JOBS) / Math.max(...seconds);
    return { jobsPerSecond, rates, mean, smallest: Math.min(...rates), checks };
  } finally {
    await stopAll([pipeline]);
  }
}
