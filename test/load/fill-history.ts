/** Ended jobs with their files, inserted directly into the database: the history of a service that has run for years. */
import type { Db } from 'mongodb';
import { segmentOf } from '../../pipeline/stores/audiences.ts';
import { fileId } from '../../pipeline/stores/files.ts';
import { type AudienceDocument, collections } from '../../schemas/documents.ts';
import { type FileDocument, type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import { insertEnded } from '../support/end-jobs.ts';

const AT_ONCE = 5_000;

/** By the last digit of the id; all others are imports. Of two audience jobs, the first creates the audience, the second appends. */
const kinds = ['import', 'import', 'audience', 'audience', 'import', 'delete', 'import'] as const;

function endedJob(id: number, partner: string, at: Date): JobDocument {
  const number = id % 10;
  const kind = kinds[number] ?? 'import';
  const isLoad = kind === 'audience';
  const hasFile = kind !== 'delete';
  return {
    _id: id,
    kind,
    partner,
    requestToken: `history ${id}`,
    phase: 'ended',
    status: number === 9 ? JobStatus.error : JobStatus.done,
    filePath: hasFile ? `history/${id}.csv` : '',
    pathType: 0,
    keyType: isLoad ? null : 0,
    compressed: null,
    keys: hasFile ? null : ['1'],
    attributes: hasFile ? null : [1],
    attributesAsOf: 1,
    audience: isLoad ? id - (number - 2) : null,
    generation: isLoad ? 1 : null,
    ...(hasFile ? { listing: `${id}-history` } : {}),
    fileCount: hasFile ? 1 : 0,
    filesDone: hasFile ? 1 : 0,
    bytes: 40_000,
    rows: 1_000,
    accepted: 1_000,
    rejected: {},
    uniqueDevices: 1_000,
    errors: number === 9 ? [{ code: 'no_files', message: 'No object matches.' }] : null,
    createdAt: at,
    startedAt: at,
    updatedAt: at,
  };
}

const fileOf = (job: JobDocument): FileDocument => ({
  _id: fileId(job.listing!, 0),
  job: job._id,
  listing: job.listing!,
  number: 0,
  audience: job.audience,
  generation: job.generation,
  path: job.filePath,
  etag: '"history"',
  size: 40_000,
  compressed: false,
  batchBytes: 700_000,
  status: JobStatus.done,
  rows: 1_000,
  accepted: 1_000,
  pairsRead: 1_000,
  duplicates: 0,
  rejected: {},
  failure: null,
  updatedAt: job.updatedAt,
});

const audienceOf = ({ _id, partner, createdAt }: JobDocument): AudienceDocument => ({
  _id,
  partner,
  customer: null,
  name: `history ${_id}`,
  segment: segmentOf(_id),
  generation: 1,
  uniqueDevices: 0,
  uploadedDevices: 2_000,
  matchedDevices: 0,
  outcome: JobStatus.done,
  createdAt,
  updatedAt: createdAt,
});

/** Numbers continue after the existing jobs, without gaps. Returns the last number. */
export async function fillHistory(db: Db, partner: string, count: number, at = new Date()): Promise<number> {
  const jobs = db.collection<JobDocument>(collections.jobs);
  const files = db.collection<FileDocument>(collections.files);
  const audiences = db.collection<AudienceDocument>(collections.audiences);
  const newest = await jobs.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } });
  const first = (newest?._id ?? 0) + 1;
  const last = first + count - 1;
  for (let id = first; id <= last; id += AT_ONCE) {
    const length = Math.min(AT_ONCE, last - id + 1);
    const batch = Array.from({ length }, (_, i) => endedJob(id + i, partner, at));
    const created = batch.filter((job) => job.audience === job._id).map(audienceOf);
    // Before the jobs, so that a visible job is complete.
    await files.insertMany(batch.filter(({ listing }) => listing !== undefined).map(fileOf));
    if (created.length > 0) await audiences.insertMany(created);
    await insertEnded(db, batch);
  }
  return last;
}
