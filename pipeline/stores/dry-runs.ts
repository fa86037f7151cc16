/** Dry runs: queued by the API, taken by any pipeline thread. A dead runner is replaced when its lease expires. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { DryRunDocument } from '../../schemas/dry-run-documents.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import { ERASED, rowsWith } from '../formats/find-identifiers.ts';
import { type Held, inFreePlace, type PlaceLimits, violatedKey } from './places.ts';

export type DryRunStore = ReturnType<typeof createDryRunStore>;
type DryRunResult = Pick<DryRunDocument, 'fileCount' | 'bytes' | 'prefixMatches' | 'files' | 'errors'>;
/** A dry run leased by this runner. */
export type TakenDryRun = DryRunDocument & { runner: string };

const unfinished = { status: { $in: [JobStatus.pending, JobStatus.running] } };
/** Unfinished, and no process has a lease on it. */
const free = () => ({
  ...unfinished,
  $or: [{ leasedUntil: { $exists: false } }, { leasedUntil: { $lt: new Date() } }],
});

export function createDryRunStore(db: Db) {
  const dryRuns = db.collection<DryRunDocument>(collections.dryRuns);

  return {
    /** Idempotent: an existing document stays. `full` if the partner or the customer has too many unfinished dry runs. */
    insert: (dryRun: DryRunDocument, limits: PlaceLimits) => {
      const { partner, customer } = dryRun;
      const fields = { projection: { customer: 1, place: 1, customerPlace: 1 } };
      const held = () =>
        dryRuns.find({ partner, place: { $exists: true } }, fields).toArray() as Promise<
          unknown[]
        > as Promise<Held[]>;
      return inFreePlace({ customer, limits, held }, async (places) => {
        await dryRuns.insertOne({ ...dryRun, ...places }).catch((error: unknown) => {
          if (!violatedKey(error)?.includes('_id')) throw error;
        });
        return 'stored' as const;
      });
    },

    find: (partner: string, customer: string | null, id: number): Promise<DryRunDocument | null> =>
      dryRuns.findOne({ _id: id, partner, ...(customer === null ? {} : { customer }) }),

    /** Partners with unleased dry runs, except these. */
    waiting: (except: string[]): Promise<string[]> =>
      dryRuns.distinct('partner', { ...free(), partner: { $nin: except } }),

    /** Takes the partner's oldest dry run without a lease. */
    take: (partner: string, runner: string, leaseMs: number): Promise<TakenDryRun | null> =>
      dryRuns.findOneAndUpdate(
        { partner, ...free() },
        {
          $set: {
            status: JobStatus.running,
            runner,
            leasedUntil: new Date(Date.now() + leaseMs),
            updatedAt: new Date(),
          },
          $inc: { tries: 1 },
        },
        { sort: { _id: 1 }, returnDocument: 'after' },
      ) as Promise<TakenDryRun | null>,

    /** Blanks examples with such identifiers, of one partner or of all. Updates single rows, because slots do so concurrently. */
    async erase(isErased: (identifier: string) => boolean, partner: string | undefined): Promise<void> {
      const hasExamples = { 'files.examples.raw': { $exists: true } };
      const scope = partner === undefined ? {} : { partner };
      for await (const { _id, files } of dryRuns.find({ ...hasExamples, ...scope })) {
        const erased = files.flatMap(({ examples }, file) =>
          rowsWith(examples, isErased).map((n) => [`files.${file}.examples.${n}.raw`, ERASED]),
        );
        if (erased.length > 0) await dryRuns.updateOne({ _id }, { $set: Object.fromEntries(erased) });
      }
    },

    /** Stores the result before the end. No effect if another process has taken the run over. */
    keep: ({ _id, runner }: TakenDryRun, result: DryRunResult) =>
      dryRuns.updateOne({ _id, runner, ...unfinished }, { $set: result }),

    /** No effect if another process has taken it over. Erases the credentials of its job. */
    end: ({ _id, runner }: TakenDryRun, status: JobStatus) =>
      dryRuns.updateOne(
        { _id, runner, ...unfinished },
        {
          $set: { status, updatedAt: new Date() },
          $unset: { 'job.credentials': '', leasedUntil: '', place: '', customerPlace: '' },
        },
      ),
  };
}
