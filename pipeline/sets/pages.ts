/** Page documents: read in bulk, changed only by an erasure, removed when no manifest references them. */
import { Binary, type Db, type Filter, Long } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { PageDocument, RenewalDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { openCursorIn, pagesIn, type StoredPage } from './page-reply.ts';
import { documentBytes, type IdRange, pageId } from './regions.ts';

/** The driver copies what it inserts about three times: more would block the thread for tens of milliseconds. */
export const INSERT_BYTES = 1 << 20;
const INSERT_AT_ONCE = 10_000;
/** Small enough that the server reads the next pages while the last ones are searched. */
const READ_AT_ONCE = 1_000;
const READS_IN_FLIGHT = 2;
const REPLY_DOCUMENTS = 100_000;
/** Limits per command: ranges are levels of up to a thousand pages. Such a removal ends long before the socket timeout. */
const REMOVE_RANGES = 200;
const REMOVE_AT_ONCE = 5_000;
const CHANGE_AT_ONCE = 1_000;

/** Pages of one level by first address, ascending. */
interface WantedPages {
  level: string;
  starts: readonly number[];
}

/** The new contents of a page. */
export interface PageChange {
  page: StoredPage;
  d: Uint8Array;
  k: Uint8Array;
}

export type Pages = ReturnType<typeof createPages>;

export function createPages(db: Db) {
  const collection = db.collection<PageDocument>(collections.pages, {
    readConcern: 'majority',
    readPreference: 'primary',
  });

  /** Ordered by id. */
  async function find(ids: { $in: string[] } | { $gte: string; $lte: string }): Promise<StoredPage[]> {
    const found: StoredPage[] = [];
    for (let filter: Filter<PageDocument> = { _id: ids }; ; ) {
      const command = {
        find: collections.pages,
        filter,
        sort: { _id: 1 },
        batchSize: REPLY_DOCUMENTS,
        readConcern: { level: 'majority' },
      };
      const { cursor } = await db.command(command, { raw: true, readPreference: 'primary' });
      for (const page of pagesIn(cursor)) found.push(page);
      const open = openCursorIn(cursor);
      if (open === 0n) return found;
      // The server cut the reply at 16 MB. The rest is read by id, so the cursor is not needed.
      await db.command({ killCursors: collections.pages, cursors: [Long.fromBigInt(open)] }).catch(() => {});
      const last = found.at(-1)!;
      filter = { _id: { ...ids, $gt: pageId(last.level, last.start) } };
    }
  }

  return {
    collection,

    /** Returns the pages that exist, in order. If several callers want pages of the same level, each may get all of them. */
    read: groupCommit(
      async (wanted: WantedPages[]): Promise<StoredPage[][]> => {
        const ids = wanted.flatMap(({ level, starts }) => starts.map((start) => pageId(level, start)));
        const byLevel = new Map<string, StoredPage[]>(wanted.map(({ level }) => [level, []]));
        // Only a single level exceeds READ_AT_ONCE.
        for (let from = 0; from < ids.length; from += READ_AT_ONCE)
          for (const page of await find({ $in: ids.slice(from, from + READ_AT_ONCE) }))
            byLevel.get(page.level)!.push(page);
        return wanted.map(({ level }) => byLevel.get(level)!);
      },
      {
        inFlight: READS_IN_FLIGHT,
        howMany: (waiting) => fitting(waiting, READ_AT_ONCE, ({ starts }) => starts.length),
      },
    ),

    readRange: ({ from, to }: IdRange): Promise<StoredPage[]> => find({ $gte: from, $lte: to }),

    write: groupCommit(
      async (written: PageDocument[][]): Promise<undefined> => {
        const sized = within({ bytes: INSERT_BYTES, count: INSERT_AT_ONCE }, documentBytes);
        for (const batch of inGroups(written.flat(), sized))
          await collection.insertMany(batch, { ordered: false });
      },
      { inFlight: 2, howMany: (waiting) => fitting(waiting, INSERT_BYTES, bytesOf) },
    ),

    /** Compare-and-set of page contents. True if no page had changed since it was read. */
    async change(changes: PageChange[]): Promise<boolean> {
      // The condition is not in the filter: the server finds a document by its id alone in two thirds of the time.
      const updates = changes.map(({ page: { level, start, changes: v }, d, k }) => {
        const isUnchanged = { $eq: [{ $ifNull: ['$v', 0] }, v] };
        const next = { _id: '$_id', d: new Binary(d), k: new Binary(k), v: v + 1 };
        const update = [{ $replaceWith: { $cond: [isUnchanged, next, '$$ROOT'] } }];
        return { updateOne: { filter: { _id: pageId(level, start) }, update } };
      });
      let modified = 0;
      for (const group of inGroups(updates, within({ count: CHANGE_AT_ONCE })))
        modified += (await collection.bulkWrite(group, { ordered: false })).modifiedCount;
      return modified === changes.length;
    },

    async renew(_id: string, renewedAt: Date): Promise<void> {
      const renewals = db.collection<RenewalDocument>(collections.pages);
      await renewals.updateOne({ _id }, { $set: { renewedAt } }, { upsert: true });
    },

    /** Removes ranges of about a level each. A deletion of keys replaces all levels of a slot, thousands of them. */
    remove: groupCommit(async (groups: IdRange[][]): Promise<undefined> => {
      const deletions = groups.flat().map(({ from, to }) => ({
        deleteMany: { filter: { _id: { $gte: from, $lte: to } } },
      }));
      for (const group of inGroups(deletions, within({ count: REMOVE_RANGES })))
        await collection.bulkWrite(group, { ordered: false });
    }),

    /** Removes a range of any size, in steps. */
    async removeAll({ from, to }: IdRange, signal?: AbortSignal): Promise<void> {
      for (let start = from; ; ) {
        signal?.throwIfAborted();
        const rest = collection.find({ _id: { $gte: start, $lte: to } }, { projection: { _id: 1 } });
        const next = await rest.sort({ _id: 1 }).skip(REMOVE_AT_ONCE).limit(1).next();
        if (!next) {
          await collection.deleteMany({ _id: { $gte: start, $lte: to } });
          return;
        }
        await collection.deleteMany({ _id: { $gte: start, $lt: next._id } });
        start = next._id;
      }
    },
  };
}

/** How many waiting calls fit into a group of this size. */
function fitting<T>(waiting: readonly { item: T }[], most: number, sizeOf: (item: T) => number): number {
  let sum = 0;
  let count = 0;
  for (const { item } of waiting) {
    sum += sizeOf(item);
    if (sum > most && count > 0) break;
    count++;
  }
  return count;
}

const bytesOf = (pages: PageDocument[]): number => pages.reduce((sum, page) => sum + documentBytes(page), 0);
