/** A job as it begins: what the request asks for, its number, and nothing done yet. */
import { randomUUID } from 'node:crypto';
import type { Binary } from 'mongodb';
import { encode } from '../../schemas/codec.ts';
import { type JobDocument, JobStatus } from '../../schemas/documents.ts';

export type JobRequest = Pick<
  JobDocument,
  | 'kind'
  | 'partner'
  | 'filePath'
  | 'pathType'
  | 'keyType'
  | 'compressed'
  | 'keys'
  | 'attributes'
  | 'audience'
  | 'generation'
> &
  Pick<JobDocument, 'requestToken' | 'region' | 'audienceName' | 'customer'> & {
    /** Sealed for the number that the job gets. */
    credentials?: (job: number) => Binary;
  };

export const acceptedMessage = (job: JobDocument): Buffer =>
  encode('AcceptedJob', {
    job: job._id,
    kind: job.kind,
    partner: job.partner,
    file_path: job.filePath,
    path_type: job.pathType,
    key_type: job.keyType,
    compressed: job.compressed,
    keys: job.keys ?? [],
    audience: job.audience,
    generation: job.generation,
    accepted_at: job.createdAt.getTime(),
  });

export function numbered(request: JobRequest, id: number, attributesAsOf: number, now: Date): JobDocument {
  const { credentials } = request;
  const makesAudience = request.kind === 'audience' && request.audience === null;
  return {
    ...request,
    _id: id,
    credentials: credentials?.(id),
    requestToken: request.requestToken ?? randomUUID(),
    audience: makesAudience ? id : request.audience,
    generation: makesAudience ? 1 : request.generation,
    attributesAsOf,
    phase: 'accepted',
    status: JobStatus.pending,
    fileCount: 0,
    filesDone: 0,
    rows: 0,
    uniqueDevices: 0,
    errors: null,
    createdAt: now,
    updatedAt: now,
  };
}
