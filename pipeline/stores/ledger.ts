/** The ledger: a batch counts once however often it is validated, and a file is complete when its batches join from end to end. */
import type { Binary, Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { LedgerDocument } from '../../schemas/stage-documents.ts';
import type { SlotTotal } from '../../schemas/topics.ts';
import type { ResumePoint } from '../formats/cut-rows.ts';
import { addPacked, noTotals } from '../formats/slot-totals.ts';
import { groupBy } from '../runtime/group-by.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { removeInSteps } from './remove-in-steps.ts';

export type LedgerStore = ReturnType<typeof createLedgerStore>;
export type LedgerEntry = Omit<LedgerDocument, '_id'>;

/** A file in one attempt at its job: nothing of an earlier attempt counts in a later one. */
export interface FileAttempt {
  job: number;
  attempt: number;
  file: number;
}

/** A batch as dispatch reads it. */
export type RecordedBatch = Omit<LedgerEntry, 'slots' | 'firstLine' | 'lines' | 'delimiter'>;

/** Files of a job, in one attempt. */
export interface WantedFiles {
  job: number;
  attempt: number;
  isWanted(file: number): boolean;
}

type KnownBatch = Omit<LedgerEntry, 'rejected' | 'events' | 'slots'>;

function resumeBehind(batches: KnownBatch[]): ResumePoint | 'complete' | null {
  for (const [number, { batch, last, failure }] of batches.entries()) {
    if (failure) return 'complete';
    if (batch !== number) return batches[number - 1] ?? null;
    if (last) return 'complete';
  }
  return batches.at(-1) ?? null;
}

const idOf = ({ job, attempt, file, batch }: LedgerEntry) => `${job}.${attempt}.${file}.${batch}`;
const nameOf = ({ job, attempt, file }: FileAttempt) => `${job}.${attempt}.${file}`;

export function createLedgerStore(db: Db) {
  const ledger = db.collection<LedgerDocument>(collections.ledger);

  return {
    /** First writer wins. */
    record: groupCommit(async (entries: LedgerEntry[]) => {
      const operations = entries.map((entry) => ({
        updateOne: {
          filter: { _id: idOf(entry) },
          update: { $setOnInsert: entry },
          upsert: true,
        },
      }));
      await ledger.bulkWrite(operations, { ordered: false });
    }),

    /** Where a split goes on: behind the batches that are validated without a gap. 'complete' when the last is among them. */
    resumePoint: groupCommit(async (files: FileAttempt[]): Promise<(ResumePoint | 'complete' | null)[]> => {
      const known = await ledger
        .find({ $or: files.map(({ job, attempt, file }) => ({ job, file, attempt })) })
        .sort({ job: 1, file: 1, batch: 1 })
        .project<KnownBatch>({ _id: 0, rejected: 0, events: 0, slots: 0 })
        .toArray();
      const byFile = groupBy(known, nameOf);
      return files.map((file) => resumeBehind(byFile.get(nameOf(file)) ?? []));
    }),

    /** Batches of files, each file's from a number on: what a file has before it is not read again. */
    async *batchesOf(
      wanted: { job: number; attempt: number; files: { file: number; from: number }[] }[],
    ): AsyncGenerator<RecordedBatch> {
      const $or = wanted.flatMap(({ job, attempt, files }) => {
        const untouched = files.filter(({ from }) => from === 0).map(({ file }) => file);
        const begun = files.filter(({ from }) => from > 0);
        return [
          ...(untouched.length > 0 ? [{ job, file: { $in: untouched }, attempt }] : []),
          ...begun.map(({ file, from }) => ({ job, file, batch: { $gte: from }, attempt })),
        ];
      });
      if ($or.length === 0) return;
      yield* ledger
        .find({ $or })
        .project<RecordedBatch>({ _id: 0, slots: 0, firstLine: 0, lines: 0, delimiter: 0 });
    },

    /** What each slot must hold of the files that the job is to merge. */
    slotTotals: groupCommit(async (wanted: WantedFiles[]): Promise<SlotTotal[][]> => {
      const totals = new Map(wanted.map((one) => [one.job, { ...one, sums: noTotals() }]));
      const batches = ledger
        .find({ job: { $in: [...totals.keys()] }, slots: { $exists: true } })
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

    /** Batches and rows by file. */
    async countByFile(job: number, attempt: number) {
      const byFile = await ledger
        .aggregate<{ _id: number; batches: number; rows: number; accepted: number }>([
          { $match: { job, attempt } },
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
      return new Map(byFile.map(({ _id, ...counts }) => [_id, counts]));
    },

    forget: (jobs: number[]) => removeInSteps(ledger, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(ledger, { job: { $lt: job } }),
  };
}
