/** The ledger: a batch counts once, however often it is validated, and a file is complete when its batches have no gap. */
import type { Binary, Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { LedgerDocument } from '../../schemas/stage-documents.ts';
import type { SlotTotal } from '../../schemas/topics.ts';
import type { ResumePoint } from '../formats/cut-rows.ts';
import { addPacked, noTotals } from '../formats/slot-totals.ts';
import { groupBy } from '../runtime/collections.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { insertNew, removeInSteps } from './bulk.ts';
import { READ_AT_ONCE } from './mongo.ts';

export type LedgerStore = ReturnType<typeof createLedgerStore>;
export type LedgerEntry = Omit<LedgerDocument, '_id'>;

/** A file in one attempt of its job. Attempts do not share entries. */
interface FileAttempt {
  job: number;
  attempt: number;
  file: number;
}

/** A batch as dispatch reads it. */
export type RecordedBatch = Omit<LedgerEntry, 'firstLine' | 'lines' | 'delimiter'>;

/** Files of a job, in one attempt. */
interface WantedFiles {
  job: number;
  attempt: number;
  isWanted(file: number): boolean;
}

export interface BatchCounts {
  batches: number;
  rows: number;
  accepted: number;
}
const sumOfBatches = {
  batches: { $sum: 1 },
  rows: { $sum: '$rows' },
  accepted: { $sum: '$accepted' },
};

type KnownBatch = FileAttempt & ResumePoint & Pick<LedgerEntry, 'last' | 'failure'>;
const knownFields = {
  _id: 0,
  job: 1,
  attempt: 1,
  file: 1,
  batch: 1,
  end: 1,
  firstLine: 1,
  lines: 1,
  delimiter: 1,
  last: 1,
  failure: 1,
} as const;

/** Batches counted by one command, a power of two. */
const MAX_COUNTED = 2 ** 17;

/** One branch per attempt: with one per file, planning would cost more than reading. */
const sameAttempts = (files: FileAttempt[]) =>
  [...groupBy(files, ({ job, attempt }) => `${job}.${attempt}`).values()].map((group) => ({
    job: group[0]!.job,
    file: { $in: group.map(({ file }) => file) },
    attempt: group[0]!.attempt,
  }));

const idOf = ({ job, attempt, file, batch }: LedgerEntry) => `${job}.${attempt}.${file}.${batch}`;
const nameOf = ({ job, attempt, file }: FileAttempt) => `${job}.${attempt}.${file}`;

export function createLedgerStore(db: Db) {
  const ledger = db.collection<LedgerDocument>(collections.ledger);

  const firstBatch = groupCommit(async (files: FileAttempt[]): Promise<(KnownBatch | undefined)[]> => {
    const $or = sameAttempts(files).map((attempt) => ({ ...attempt, batch: 0 }));
    const found = await ledger.find({ $or }).project<KnownBatch>(knownFields).toArray();
    const byFile = new Map(found.map((batch) => [nameOf(batch), batch]));
    return files.map((file) => byFile.get(nameOf(file)));
  });

  /**
   * Number of batches recorded without a gap from the first on. A file may have millions: counts in the index, in steps that double until
   * one has a gap and are halved from there.
   */
  async function countJoined({ job, attempt, file }: FileAttempt): Promise<number> {
    let joined = 1;
    let hasGap = false;
    for (let step = 1; step >= 1; ) {
      const batch = { $gte: joined, $lt: joined + step };
      const found = await ledger.countDocuments({ job, attempt, file, batch });
      if (found === 0) break;
      if (found === step) joined += step;
      else hasGap = true;
      step = hasGap ? Math.floor(step / 2) : Math.min(2 * step, MAX_COUNTED);
    }
    return joined;
  }

  return {
    /** First writer wins. */
    record: groupCommit(async (entries: LedgerEntry[]) => {
      await insertNew(
        ledger,
        entries.map((entry) => ({ _id: idOf(entry), ...entry })),
      );
    }),

    /** Where split resumes: after the batches validated without a gap. 'complete' if they include the last one. */
    async resumePoint({ job, attempt, file }: FileAttempt): Promise<ResumePoint | 'complete' | null> {
      const first = await firstBatch({ job, attempt, file });
      if (!first) return null;
      if (first.last || first.failure) return 'complete';
      const batch = (await countJoined(first)) - 1;
      const behind = await ledger.findOne<KnownBatch>(
        { job, attempt, file, batch },
        { projection: knownFields },
      );
      return behind?.last || behind?.failure ? 'complete' : behind;
    },

    /**
     * Batches of files, each starting at a number, so that nothing is read twice. For jobs with all files wanted from the beginning
     * (`isWhole`), all batches of any attempt: with one branch per job, planning would cost more than reading.
     */
    async *batchesOf(
      wanted: { job: number; attempt: number; isWhole: boolean; files: { file: number; from: number }[] }[],
    ): AsyncGenerator<RecordedBatch> {
      const whole = wanted.filter(({ isWhole }) => isWhole).map(({ job }) => job);
      const parts = wanted.filter(({ isWhole }) => !isWhole);
      const $or = parts.flatMap(({ job, attempt, files }) => {
        const untouched = files.filter(({ from }) => from === 0).map(({ file }) => file);
        const begun = files.filter(({ from }) => from > 0);
        return [
          ...(untouched.length > 0 ? [{ job, file: { $in: untouched }, attempt }] : []),
          ...begun.map(({ file, from }) => ({ job, file, batch: { $gte: from }, attempt })),
        ];
      });
      for (const filter of [
        ...(whole.length > 0 ? [{ job: { $in: whole } }] : []),
        ...($or.length > 0 ? [{ $or }] : []),
      ])
        yield* ledger.find(filter).project<RecordedBatch>({ _id: 0, firstLine: 0, lines: 0, delimiter: 0 });
    },

    /** Totals that each slot must hold of the files to merge. */
    slotTotals: groupCommit(async (wanted: WantedFiles[]): Promise<SlotTotal[][]> => {
      const totals = new Map(wanted.map((files) => [files.job, { ...files, sums: noTotals() }]));
      const batches = ledger
        .find({ job: { $in: [...totals.keys()] }, slots: { $exists: true } }, { batchSize: READ_AT_ONCE })
        .project<Pick<LedgerDocument, 'job' | 'attempt' | 'file'> & { slots: Binary }>({
          _id: 0,
          job: 1,
          attempt: 1,
          file: 1,
          slots: 1,
        });
      for await (const { job, attempt, file, slots } of batches) {
        const of = totals.get(job)!;
        if (attempt === of.attempt && of.isWanted(file)) addPacked(of.sums, slots.buffer);
      }
      return wanted.map(({ job }) => totals.get(job)!.sums);
    }),

    /** Batches and rows of the files. */
    async countByFile(job: number, attempt: number, files: number[]) {
      const byFile = await ledger
        .aggregate<BatchCounts & { _id: number }>([
          { $match: { job, file: { $in: files }, attempt } },
          { $group: { _id: '$file', ...sumOfBatches } },
        ])
        .toArray();
      return new Map(byFile.map(({ _id, ...counts }) => [_id, counts]));
    },

    /** Batches and rows of all files. */
    async countAll(job: number, attempt: number): Promise<BatchCounts> {
      const [all] = await ledger
        .aggregate<BatchCounts>([
          { $match: { job, attempt } },
          { $group: { _id: null, ...sumOfBatches } },
          { $project: { _id: 0 } },
        ])
        .toArray();
      return all ?? { batches: 0, rows: 0, accepted: 0 };
    },

    forget: (jobs: number[]) => removeInSteps(ledger, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(ledger, { job: { $lt: job } }),
  };
}
