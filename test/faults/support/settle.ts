/** The invariant of every fault test: once everything runs again, every requested job ends, exactly as the oracle says. */
import type { Filter } from 'mongodb';
import { groupBy } from '../../../pipeline/runtime/collections.ts';
import { createDeviceSets } from '../../../pipeline/sets/device-sets.ts';
import { collections, spaces } from '../../../schemas/documents.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { ManifestDocument } from '../../../schemas/stage-documents.ts';
import { expected, observed, type Picture } from '../../invariants/sequences/compare.ts';
import type { Driver } from '../../support/driver.ts';
import { createOracle, type Oracle } from '../../support/oracle.ts';
import { findInDatabase } from '../../support/scan-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { keepEvidence } from './evidence.ts';
import type { Lane } from './lane.ts';

/** Descriptions of violated guarantees. Empty: the invariant holds. */
export type Violations = string[];

const MAX_SOUGHT = 100;

export const unfinished = { phase: { $nin: ['ended', 'withdrawn'] } } as Filter<JobDocument>;

export async function untilAllEnded(driver: Driver): Promise<void> {
  await waitFor(async () => (await driver.jobs.countDocuments(unfinished)) === 0, {
    what: 'the end of every job',
    progress: driver.openJobs,
    everyMs: 100,
  });
}

/** The job of each request. A request with no job, or with two, is a violation. */
async function jobsOf(driver: Driver, lane: Lane, violations: Violations): Promise<(JobDocument | null)[]> {
  const found = await driver.jobs
    .find({ partner: lane.partner._id, phase: 'ended' })
    .sort({ _id: 1 })
    .toArray();
  const wanted = lane.asked.filter(({ request }) => request.kind !== 'clear').length;
  if (found.length !== wanted)
    violations.push(`${lane.partner._id}: ${wanted} requests became ${found.length} jobs`);
  let next = 0;
  return lane.asked.map(({ request, id }) => {
    if (request.kind === 'clear') return null;
    const job = found[next++];
    if (!job || (id !== null && job._id !== id))
      violations.push(
        `${lane.partner._id}: ${JSON.stringify(request)} was answered with ${id}, found ${job?._id}`,
      );
    return job ?? null;
  });
}

/** Whether a later clear cancelled the load. If not, the load ended before the clear. */
function cancelledByClear(lane: Lane, at: number, job: JobDocument): boolean {
  const later = lane.asked.slice(at + 1);
  const cleared = later.some(({ request }) => request.kind === 'clear' && request.audience === job.audience);
  return cleared && (job.errors?.some(({ code }) => code === 'cancelled') ?? false);
}

/** What a privacy request finds in audiences that are cleared after it depends on timing. */
const isFoundByChance = ({ asked }: Lane, at: number): boolean =>
  asked[at]!.request.kind === 'privacy' &&
  asked.slice(at + 1).some(({ request }) => request.kind === 'clear');

/**
 * Suppressed devices that are still stored. Sweeps the pages of crashed merges now, which the service does hours later. No other
 * lane has these devices.
 */
async function findSuppressed(driver: Driver, lane: Lane, oracle: Oracle): Promise<Violations> {
  const suppressed = [...oracle.suppressed(lane.partner._id)];
  if (suppressed.length === 0) return [];
  await createDeviceSets(driver.db).sweepOrphans({ unnamedForMs: 0 });
  const every = Math.ceil(suppressed.length / MAX_SOUGHT);
  const sought = suppressed.filter((_, n) => n % every === 0);
  return (await findInDatabase(driver.db, sought)).map(
    (found) => `${lane.partner._id}: deleted, but in ${found}`,
  );
}

async function compareLane(driver: Driver, lane: Lane, violations: Violations): Promise<void> {
  const jobs = await jobsOf(driver, lane, violations);
  if (violations.length > 0) return;
  const oracle = createOracle();
  for (const [path, bytes] of lane.uploads) oracle.upload(lane.partner.prefix + path, bytes);
  for (const attribute of lane.attributes) oracle.attribute(attribute, lane.partner);
  const cancelled: number[] = [];
  for (const [at, { request }] of lane.asked.entries()) {
    const job = jobs[at]!;
    if (request.kind === 'clear') {
      oracle.clear(request.audience);
      continue;
    }
    const id = job._id;
    if (request.kind === 'delete') oracle.delete(id, request.attributes);
    else if (request.kind === 'privacy')
      oracle.privacy(id, request.type, lane.partner._id, request.identifiers);
    else if (request.kind === 'import')
      oracle.import(id, lane.partner, request.path, { keyType: 0, compressed: request.compressed });
    else oracle.load(id, request.kind === 'create' ? id : request.audience, lane.partner, request.path);
    if (cancelledByClear(lane, at, job) || isFoundByChance(lane, at)) cancelled.push(id);
  }
  const [is, should] = [await observed(driver, oracle), expected(oracle)];
  for (const picture of [is, should])
    for (const id of cancelled) {
      delete picture.jobs[id];
      delete picture.files[id];
    }
  violations.push(...differences(lane.partner._id, is, should));
  violations.push(...(await findSuppressed(driver, lane, oracle)));
}

function differences(partner: string, is: Picture, should: Picture): Violations {
  const found: Violations = [];
  for (const part of ['jobs', 'files', 'audiences', 'sets', 'attributes'] as const) {
    const [a, b] = [is[part], should[part]] as Record<string, unknown>[];
    for (const key of new Set([...Object.keys(a!), ...Object.keys(b!)])) {
      const [one, other] = [JSON.stringify(a![key]), JSON.stringify(b![key])];
      if (canonical(a![key]) !== canonical(b![key]))
        found.push(`${partner}: ${part} ${key} is ${short(one)}, should be ${short(other)}`);
    }
  }
  return found;
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? 'nothing';
const short = (text: string | undefined) =>
  text === undefined || text.length < 1_000 ? text : `${text.slice(0, 1_000)}… (${text.length} characters)`;

/** Job numbers and end numbers have no gaps, a partner's jobs end in order, and no job keeps credentials. */
async function compareWhole(driver: Driver, violations: Violations, inOrder: boolean): Promise<void> {
  const jobs = await driver.jobs.find().sort({ _id: 1 }).toArray();
  const gap = jobs.findIndex(({ _id }, i) => _id !== i + 1);
  if (gap >= 0) violations.push(`job ${gap + 1} is missing`);
  const withSecrets = jobs.filter(({ credentials }) => credentials != null).map(({ _id }) => _id);
  if (withSecrets.length > 0) violations.push(`jobs ${withSecrets} still hold credentials`);
  const ended = jobs.filter(({ phase }) => phase === 'ended');
  const numbers = ended.map(({ endNumber }) => endNumber!).sort((a, b) => a - b);
  if (numbers.some((number, i) => number !== i + 1)) violations.push(`the ends are numbered ${numbers}`);
  for (const own of groupBy(ended, ({ partner }) => partner).values())
    for (const [i, job] of own.entries()) {
      const before = own[i - 1];
      const isWrong =
        before && (job.endNumber! < before.endNumber! || (inOrder && job.updatedAt < before.updatedAt));
      if (isWrong) violations.push(`job ${job._id} ended before job ${before._id} of the same partner`);
    }
}

/** Waits for the sweep of what crashed processes left: the dispatcher sweeps every half minute and when it starts. */
async function untilSwept(driver: Driver, violations: Violations): Promise<void> {
  const ends = async () => {
    const left: string[] = [];
    for (const name of [collections.ledger, collections.votes, collections.spills])
      if ((await driver.db.collection(name).countDocuments()) > 0) left.push(name);
    if ((await driver.db.collection(collections.acks).countDocuments({ job: { $exists: true } })) > 0)
      left.push('acks');
    for await (const { _id, generation } of driver.audiences.find({ generation: { $gt: 1 } })) {
      const older = Array.from({ length: generation - 1 }, (_, i) => spaces.audience(_id, i + 1));
      const manifests = driver.db.collection<ManifestDocument>(collections.manifests);
      if (await manifests.findOne({ space: { $in: older } })) left.push(`older devices of audience ${_id}`);
    }
    return left;
  };
  let left: string[] = [];
  const isClean = async () => {
    left = await ends();
    return left.length === 0;
  };
  await waitFor(isClean, {
    what: 'a clean database',
    progress: () => left,
    everyMs: 200,
  }).catch(() => violations.push(`left behind: ${left.join(', ')}`));
}

export interface Limits {
  /** Whether timestamps of ends are meaningful. */
  endsInOrder?: boolean;
  /** Whether to wait for the sweep. */
  swept?: boolean;
}

export async function violationsOf(
  driver: Driver,
  lanes: readonly Lane[],
  { endsInOrder = true, swept = true }: Limits = {},
): Promise<Violations> {
  const violations: Violations = [];
  try {
    await untilAllEnded(driver);
  } catch (error) {
    await keep(driver);
    const open = await driver.jobs.find(unfinished).sort({ _id: 1 }).limit(5).toArray();
    return [
      `${(error as Error).message}: ${open.map(({ _id, kind, phase }) => `${_id} ${kind} ${phase}`).join(', ')}`,
    ];
  }
  for (const lane of lanes) await compareLane(driver, lane, violations);
  await compareWhole(driver, violations, endsInOrder);
  if (swept) await untilSwept(driver, violations);
  if (violations.length > 0) await keep(driver);
  return violations;
}

/** FAULT_EVIDENCE=folder keeps a dump of the databases after a failure. */
async function keep(driver: Driver): Promise<void> {
  if (process.env.FAULT_EVIDENCE) await keepEvidence(driver, process.env.FAULT_EVIDENCE);
}
