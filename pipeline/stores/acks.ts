/** Acks: the counts of each slot when it merged a job; and the last job that each slot has merged. */
import { Binary, type Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { AckDocument, FilePairsDocument, SlotDocument } from '../../schemas/stage-documents.ts';
import { DEFAULT_SLOTS, MAX_SLOTS } from '../../schemas/topics.ts';
import { packNumbers, unpackNumbers } from '../formats/number-table.ts';
import { groupBy } from '../runtime/collections.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { insertNew, removeInSteps } from './bulk.ts';

export type AckStore = ReturnType<typeof createAckStore>;
export type Ack = Omit<AckDocument, '_id'>;

/** If an ack has more files than this, its pairs by file are stored in pages of this many file numbers, so that acks stay small. */
const PAGE_FILES = 10_000;

const MAX_UPSERTS = 32;

/** Numeric, so that the acks of a job, or of consecutive jobs, are a range of ids. Slots above 16 are fractions between the first 16. */
const ackId = (job: number, slot: number) =>
  job * DEFAULT_SLOTS + (slot % DEFAULT_SLOTS) + Math.floor(slot / DEFAULT_SLOTS) / MAX_SLOTS;
const idsFrom = (job: number) => ackId(job, 0);

const pageOf = (file: number) => Math.floor(file / PAGE_FILES);

const isPaged = (acked: AckDocument[]) => acked.some(({ pagedFiles }) => pagedFiles !== undefined);

/** The pages of the pairs by file of these acks; a single page if no ack is paged. */
export function pagesIn(acked: AckDocument[]): number[] {
  let files = 1;
  if (isPaged(acked))
    for (const { pagedFiles = 0, filePairs } of acked) {
      files = Math.max(files, pagedFiles);
      for (let i = 0; i < filePairs.length; i += 2) files = Math.max(files, filePairs[i]! + 1);
    }
  return Array.from({ length: pageOf(files - 1) + 1 }, (_, page) => page);
}

/** The ack document and its pages. */
function splitIntoPages(ack: Ack): { ack: Ack; pages: FilePairsDocument[] } {
  if (ack.filePairs.length <= 2 * PAGE_FILES) return { ack, pages: [] };
  const rows = new Map<number, number[][]>();
  let lastFile = 0;
  for (let i = 0; i < ack.filePairs.length; i += 2) {
    const [file, pairs] = [ack.filePairs[i]!, ack.filePairs[i + 1]!];
    const page = rows.get(pageOf(file)) ?? [];
    rows.set(pageOf(file), page);
    page.push([file, pairs]);
    lastFile = Math.max(lastFile, file);
  }
  const { job, slot } = ack;
  const pages = [...rows].map(([page, numbers]) => ({
    _id: `${job}.${slot}.${page}`,
    job,
    slot,
    page,
    pairs: new Binary(packNumbers(numbers)),
  }));
  return { ack: { ...ack, filePairs: [], pagedFiles: lastFile + 1 }, pages };
}

export function createAckStore(db: Db) {
  const acks = db.collection<AckDocument>(collections.acks);
  const slots = db.collection<SlotDocument>(collections.acks);
  const both = db.collection<AckDocument | SlotDocument>(collections.acks);
  const filePairs = db.collection<FilePairsDocument>(collections.filePairs);
  const slotId = (slot: number) => `slot ${slot}`;

  const record = (ack: Ack) => ({
    updateOne: { filter: { _id: ackId(ack.job, ack.slot) }, update: { $setOnInsert: ack }, upsert: true },
  });
  const advance = (slot: number, job: number) => ({
    updateOne: { filter: { _id: slotId(slot) }, update: { $max: { committedJob: job } }, upsert: true },
  });

  /** For jobs in flight, whose numbers are close together. */
  const ofAny = (jobs: number[]) => ({
    _id: { $gte: idsFrom(Math.min(...jobs)), $lt: idsFrom(Math.max(...jobs) + 1) },
    job: { $in: jobs },
  });

  /** Stored before their ack. Every merge of the job yields the same pages. */
  async function storePages(pages: FilePairsDocument[]): Promise<void> {
    for (const { _id, ...page } of pages)
      await filePairs.updateOne({ _id }, { $setOnInsert: page }, { upsert: true });
  }

  return {
    /**
     * Acks first, because a slot that has advanced past a job is never asked for its ack again. First writer wins, because a merge repeated
     * after a crash may count less than the first.
     */
    recordAndAdvance: groupCommit(async (runs: Ack[][]) => {
      const stored = runs.flat().map(splitIntoPages);
      const entries = stored.map(({ ack }) => ack);
      await storePages(stored.flatMap(({ pages }) => pages));
      const last = new Map<number, number>();
      for (const { slot, job } of entries) last.set(slot, Math.max(job, last.get(slot) ?? 0));
      const advances = [...last].map(([slot, job]) => advance(slot, job));
      // In one command, in order, if they are few; the server inserts many at a third of the cost.
      const isOneCommand = entries.length <= MAX_UPSERTS;
      if (!isOneCommand)
        await insertNew(
          acks,
          entries.map((entry) => ({ _id: ackId(entry.job, entry.slot), ...entry })),
        );
      await both.bulkWrite([...(isOneCommand ? entries.map(record) : []), ...advances], { ordered: true });
    }),

    async countByJob(jobs: number[]): Promise<Map<number, number>> {
      if (jobs.length === 0) return new Map();
      const counts = await acks
        .aggregate<{ _id: number; slots: number }>([
          { $match: ofAny(jobs) },
          { $group: { _id: '$job', slots: { $sum: 1 } } },
        ])
        .toArray();
      return new Map(counts.map(({ _id, slots }) => [_id, slots]));
    },

    ofJob: groupCommit(async (jobs: number[]): Promise<AckDocument[][]> => {
      const found = await acks.find(ofAny(jobs)).toArray();
      const byJob = groupBy(found, ({ job }) => job);
      return jobs.map((job) => byJob.get(job) ?? []);
    }),

    /** The slots that have acknowledged each of the jobs. */
    async slotsOf(jobs: number[]): Promise<Map<number, Set<number>>> {
      if (jobs.length === 0) return new Map();
      const found = await acks
        .find(ofAny(jobs))
        .project<Pick<AckDocument, 'job' | 'slot'>>({ _id: 0, job: 1, slot: 1 })
        .toArray();
      const byJob = groupBy(found, ({ job }) => job);
      return new Map([...byJob].map(([job, own]) => [job, new Set(own.map(({ slot }) => slot))]));
    },

    /** Distinct pairs by file over all slots, for the files of one page (`pagesIn`). */
    async filePairs(acked: AckDocument[], page: number): Promise<Map<number, number>> {
      const inPages = isPaged(acked);
      const byFile = new Map<number, number>();
      const add = (file: number, pairs: number) => byFile.set(file, (byFile.get(file) ?? 0) + pairs);
      for (const { filePairs: listed } of acked)
        for (let i = 0; i < listed.length; i += 2)
          if (!inPages || pageOf(listed[i]!) === page) add(listed[i]!, listed[i + 1]!);
      if (!inPages) return byFile;
      for await (const { pairs } of filePairs.find({ job: acked[0]!.job, page }))
        for (const [file, count] of unpackNumbers(pairs.buffer, 2)) add(file!, count!);
      return byFile;
    },

    async forget(jobs: number[]): Promise<void> {
      await Promise.all([removeInSteps(acks, ofAny(jobs)), removeInSteps(filePairs, { job: { $in: jobs } })]);
    },
    async forgetBefore(job: number): Promise<void> {
      await Promise.all([
        removeInSteps(acks, { _id: { $lt: idsFrom(job) } }),
        removeInSteps(filePairs, { job: { $lt: job } }),
      ]);
    },

    /** The last job that each of the slots has merged. */
    committedJobs: groupCommit(async (groups: number[][]): Promise<Map<number, number>[]> => {
      const ids = [...new Set(groups.flat())].map(slotId);
      const found = await slots.find({ _id: { $in: ids } }).toArray();
      const jobs = new Map(found.map(({ _id, committedJob }) => [_id, committedJob]));
      return groups.map((group) => new Map(group.map((slot) => [slot, jobs.get(slotId(slot)) ?? 0])));
    }),
  };
}
