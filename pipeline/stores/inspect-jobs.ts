/** Jobs as an operator looks at them: how far each has come, what it waits for, since when. */
import type { Db, Filter } from 'mongodb';
import {
  type AckDocument,
  type CheckDocument,
  collections,
  type FileDocument,
  type JobDocument,
  JobStatus,
  type LedgerDocument,
} from '../../schemas/documents.ts';
import { SLOTS } from '../../schemas/topics.ts';
import { ProvisioningError } from './partners.ts';

export interface InspectedFile {
  number: number;
  path: string;
  size: number;
  isDispatched: boolean;
  /** Batches and rows of it in the ledger. */
  batches: number;
  rows: number;
  since: Date;
}

export interface InspectedJob {
  job: JobDocument;
  files: { waiting: number; dispatched: number; done: number; failed: number };
  /** The first of those that are not decided. */
  undecided: InspectedFile[];
  ledger: { batches: number; rows: number; accepted: number };
  /** Partitions whose sink was asked whether it holds all of the job, and the slots that lack something. */
  checks: { partition: number; lacking: number[] }[];
  acks: { merged: number[]; missing: number[] };
  waitsFor: string | null;
}

const unfinished: Filter<JobDocument> = { phase: { $in: ['accepted', 'loading', 'sealed'] } };
const UNDECIDED_SHOWN = 20;

export function createJobInspection(db: Db, jobWindow: number) {
  const jobs = db.collection<JobDocument>(collections.jobs);
  const files = db.collection<FileDocument>(collections.files);
  const ledger = db.collection<LedgerDocument>(collections.ledger);
  const acks = db.collection<AckDocument>(collections.acks);
  const checks = db.collection<CheckDocument>(collections.checks);

  /** Of the current attempt. */
  async function ledgerOf({ _id, attempt = 0 }: JobDocument) {
    const byFile = await ledger
      .aggregate<{ _id: number; batches: number; rows: number; accepted: number }>([
        { $match: { job: _id, attempt } },
        {
          $group: {
            _id: '$file',
            batches: { $sum: 1 },
            rows: { $sum: '$rows' },
            accepted: { $sum: '$accepted' },
          },
        },
      ])
      .toArray();
    return new Map(byFile.map(({ _id: file, ...counts }) => [file, counts]));
  }

  async function filesOf({ _id, listing = '' }: JobDocument): Promise<InspectedJob['files']> {
    const counts = await files
      .aggregate<{ _id: JobStatus; count: number }>([
        { $match: { job: _id, listing } },
        { $group: { _id: '$status', count: { $sum: 1 } } },
      ])
      .toArray();
    const by = new Map(counts.map(({ _id: status, count }) => [status, count]));
    const of = (status: JobStatus) => by.get(status) ?? 0;
    return {
      waiting: of(JobStatus.pending),
      dispatched: of(JobStatus.running),
      done: of(JobStatus.done),
      failed: of(JobStatus.error),
    };
  }

  const undecidedOf = ({ _id, listing = '' }: JobDocument) =>
    files
      .find({ job: _id, listing, status: { $in: [JobStatus.pending, JobStatus.running] } })
      .sort({ number: 1 })
      .limit(UNDECIDED_SHOWN)
      .toArray();

  /** What the job stands behind: unfinished jobs with a lower number. */
  async function earlierThan({ _id, audience }: JobDocument) {
    const before: Filter<JobDocument> = { ...unfinished, _id: { $lt: _id } };
    const [first, count, ofAudience] = await Promise.all([
      jobs.findOne(before, { sort: { _id: 1 }, projection: { _id: 1 } }),
      jobs.countDocuments(before),
      audience === null
        ? null
        : jobs.findOne({ ...before, audience }, { sort: { _id: -1 }, projection: { _id: 1 } }),
    ]);
    return { first: first?._id, count, ofAudience: ofAudience?._id };
  }

  async function waitsFor(job: JobDocument, seen: Omit<InspectedJob, 'waitsFor' | 'job'>) {
    if (job.phase === 'ended' || job.phase === 'withdrawn') return null;
    if (job.cancelRequested) return 'its cancellation';
    const earlier = await earlierThan(job);
    if (job.phase === 'accepted') {
      if (earlier.ofAudience) return `the end of job ${earlier.ofAudience}, a load of the same audience`;
      if (earlier.count >= jobWindow) return `the end of job ${earlier.first}: ${earlier.count} are ahead`;
      return job.kind === 'delete' ? 'dispatch' : 'the listing of its files by the storage';
    }
    if (job.phase === 'loading') {
      const open = seen.files.waiting + seen.files.dispatched;
      if (open > 0) return `${open} of ${job.fileCount} files, the first of them ${seen.undecided[0]?.path}`;
      return 'the sinks to say that they hold all of it';
    }
    if (seen.acks.merged.length === 0 && earlier.first !== undefined)
      return `the end of job ${earlier.first}`;
    if (seen.acks.missing.length > 0) return `the merge by slot ${seen.acks.missing.join(', ')}`;
    return 'dispatch to end it';
  }

  async function inspect(job: JobDocument): Promise<InspectedJob> {
    const [counted, byFile, undecided, acked, checked] = await Promise.all([
      filesOf(job),
      ledgerOf(job),
      undecidedOf(job),
      acks.find({ job: job._id, removing: { $ne: true } }).toArray(),
      checks
        .find({ job: job._id, attempt: job.attempt ?? 0 })
        .sort({ partition: 1 })
        .toArray(),
    ]);
    const merged = acked.map(({ slot }) => slot).sort((a, b) => a - b);
    const sum = (field: 'batches' | 'rows' | 'accepted') =>
      [...byFile.values()].reduce((total, counts) => total + counts[field], 0);
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
    const seen = {
      files: counted,
      undecided: undecided.map(({ number, path, size, status, updatedAt }) => ({
        number,
        path,
        size,
        isDispatched: status === JobStatus.running,
        batches: byFile.get(number)?.batches ?? 0,
        rows: byFile.get(number)?.rows ?? 0,
        since: updatedAt,
      })),
      ledger: { batches: sum('batches'), rows: sum('rows'), accepted: sum('accepted') },
      checks: checked.map(({ partition, lacking }) => ({ partition, lacking })),
      acks: { merged, missing: slots.filter((slot) => !merged.includes(slot)) },
    };
    return { job, ...seen, waitsFor: await waitsFor(job, seen) };
  }

  return {
    /** Unfinished jobs, oldest first: what stops the queue stands at the top. Or all, newest first. */
    list: (options: { partner?: string | undefined; all: boolean; limit: number }): Promise<JobDocument[]> =>
      jobs
        .find({
          ...(options.all ? {} : unfinished),
          ...(options.partner === undefined ? {} : { partner: options.partner }),
        })
        .sort({ _id: options.all ? -1 : 1 })
        .limit(options.limit)
        .toArray(),

    async show(id: number): Promise<InspectedJob> {
      const job = await jobs.findOne({ _id: id });
      if (!job) throw new ProvisioningError('unknown_job', `there is no job ${id}`);
      return inspect(job);
    },

    /** Dispatch ends it with `cancelled`, and nothing of it is merged. Too late once it is decided what is merged. */
    async cancel(id: number): Promise<JobDocument> {
      const cancelled = await jobs.findOneAndUpdate(
        { _id: id, phase: { $in: ['accepted', 'loading'] } },
        { $set: { cancelRequested: true, updatedAt: new Date() } },
        { returnDocument: 'after' },
      );
      if (cancelled) return cancelled;
      const job = await jobs.findOne({ _id: id }, { projection: { phase: 1 } });
      if (!job) throw new ProvisioningError('unknown_job', `there is no job ${id}`);
      const why = job.phase === 'sealed' ? 'is being merged' : `is ${job.phase}`;
      throw new ProvisioningError('cannot_cancel', `job ${id} ${why}: it cannot be cancelled any more`);
    },
  };
}
