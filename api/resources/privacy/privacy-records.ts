/** Privacy requests as partners and operators see them. */
import { inGroupsAsync, within } from '../../../pipeline/runtime/in-groups.ts';
import { inParallel } from '../../../pipeline/runtime/in-parallel.ts';
import type { AnswerRecord } from '../../../pipeline/stores/request-results.ts';
import type { Addition, Additions } from '../../../schemas/documents.ts';
import { type JobDocument, JobStatus } from '../../../schemas/job-documents.ts';
import type { ApiStores } from '../../stores/api-stores.ts';

export const shownOfRequest = {
  partner: 1,
  privacy: 1,
  filePath: 1,
  status: 1,
  phase: 1,
  accepted: 1,
  uniqueDevices: 1,
  errors: 1,
  createdAt: 1,
  updatedAt: 1,
} as const;
export type ShownRequest = Pick<JobDocument, '_id' | keyof typeof shownOfRequest>;

export function toRequest(job: ShownRequest) {
  const hasEnded = job.phase === 'ended';
  return {
    request_id: job._id,
    type: job.privacy!,
    file_path: job.filePath === '' ? null : job.filePath,
    status: job.status,
    identifiers: hasEnded ? (job.accepted ?? 0) : null,
    found: hasEnded ? job.uniqueDevices : null,
    errors: job.status === JobStatus.error ? (job.errors ?? []) : null,
    created_at: job.createdAt,
    updated_at: job.updatedAt,
  };
}

/** The first and last job that added devices. Null if the first one is later than the request: what it found was deleted since. */
function additionsBy(name: 'import_log_id' | 'load_id', additions: Additions | undefined, request: number) {
  const toRecord = ({ job, at }: Addition) => ({ [name]: job, created_at: at });
  if (!additions || additions.first.job > request) return { first_addition: null, last_addition: null };
  return { first_addition: toRecord(additions.first), last_addition: toRecord(additions.last) };
}

const AT_ONCE = 100;
/** Devices described together: their attributes and audiences share look-ups. */
const DESCRIBED_AT_ONCE = 1_000;
const MAX_AUDIENCES = 20_000;

type Used = Pick<ApiStores, 'requestResults' | 'attributes' | 'attributeDevices' | 'audiences' | 'jobs'>;

/** Loads by audience and generation. */
async function loadsInto(found: AnswerRecord['audiences'], { jobs }: Pick<Used, 'jobs'>) {
  const spaces = new Map(
    found.map(({ audience, generation }) => [`${audience}.${generation}`, { audience, generation }]),
  );
  const additions = new Map<string, Additions | undefined>();
  await inParallel([...spaces], AT_ONCE, async ([name, { audience, generation }]) => {
    additions.set(name, await jobs.additionsTo(audience, generation));
  });
  return additions;
}

async function describe(stores: Used, records: AnswerRecord[], request: number) {
  const attributeIds = [...new Set(records.flatMap((one) => one.attributes))];
  const inAudiences = records.flatMap((one) => one.audiences);
  const [attributes, imports, audiences, loads] = await Promise.all([
    stores.attributes.describe(attributeIds),
    stores.attributeDevices.additionsTo(attributeIds),
    stores.audiences.findAll([...new Set(inAudiences.map(({ audience }) => audience))]),
    loadsInto(inAudiences, stores),
  ]);
  const names = new Map(audiences.filter(({ deletedAt }) => !deletedAt).map(({ _id, name }) => [_id, name]));
  return records.map(({ identifier, ...held }) => ({
    identifier,
    attributes: held.attributes.map((id) => ({
      attribute_id: id,
      name: attributes.get(id)?.name ?? null,
      ...additionsBy('import_log_id', imports.get(id), request),
    })),
    audiences: held.audiences.map(({ audience, generation, events }) => ({
      audience_id: audience,
      name: names.get(audience) ?? null,
      events,
      ...additionsBy('load_id', loads.get(`${audience}.${generation}`), request),
    })),
  }));
}

/** The devices found by an access request; null for other types, unfinished requests and expired results. */
export async function devicesOf(stores: Used, job: ShownRequest, secrets: readonly Uint8Array[]) {
  if (job.privacy !== 'access' || job.status !== JobStatus.done) return null;
  if (job.uniqueDevices > 0 && !(await stores.requestResults.hasAnswer(job._id))) return null;
  const limits = within<AnswerRecord>(
    { count: DESCRIBED_AT_ONCE, bytes: MAX_AUDIENCES },
    ({ audiences }) => audiences.length,
  );
  return (async function* () {
    for await (const records of inGroupsAsync(stores.requestResults.answers(job._id, secrets), limits))
      yield* await describe(stores, records, job._id);
  })();
}
