/** Privacy requests as partners and operators see them. */
import { unseal } from '../../../pipeline/runtime/seal.ts';
import { type JobDocument, JobStatus } from '../../../schemas/documents.ts';
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

/** As the sinks have sealed it. */
interface SealedRecord {
  identifier: string;
  attributes: number[];
  audiences: { audience_id: number; events: string[] }[];
}

/** The answer to an access request; null: there is none, or it has expired. */
export async function devicesOf(
  { requestResults, attributes, audiences }: Pick<ApiStores, 'requestResults' | 'attributes' | 'audiences'>,
  job: ShownRequest,
  secrets: readonly Uint8Array[],
) {
  if (job.privacy !== 'access' || job.status !== JobStatus.done) return null;
  const found = await requestResults.ofJob(job._id);
  if (found.length === 0 && job.uniqueDevices > 0) return null;
  const records = found.flatMap(({ slot, sealed }) =>
    sealed ? (JSON.parse(unseal(secrets, sealed, `request ${job._id}.${slot}`)) as SealedRecord[]) : [],
  );
  const attributeNames = await attributes.describe([...new Set(records.flatMap((one) => one.attributes))]);
  const ids = records.flatMap((one) => one.audiences.map(({ audience_id }) => audience_id));
  const known = await audiences.findAll([...new Set(ids)]);
  const names = new Map(known.filter(({ deletedAt }) => !deletedAt).map(({ _id, name }) => [_id, name]));
  return records.map(({ identifier, ...held }) => ({
    identifier,
    attributes: held.attributes.map((id) => ({
      attribute_id: id,
      name: attributeNames.get(id)?.name ?? null,
    })),
    audiences: held.audiences.map(({ audience_id, events }) => ({
      audience_id,
      name: names.get(audience_id) ?? null,
      events,
    })),
  }));
}
