/** Page documents: written once, read many to a round trip, removed when no manifest names them. */
import type { Db, Filter } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { PageDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { documentBytes, type IdRange } from './regions.ts';

/** The driver copies what it inserts about three times. */
const INSERT_BYTES = 4 << 20;
const INSERT_AT_ONCE = 10_000;
const READ_AT_ONCE = 2_000;
const REPLY_DOCUMENTS = 10_000;

export type Pages = ReturnType<typeof createPages>;

export function createPages(db: Db) {
  const collection = db.collection<PageDocument>(collections.pages, {
    readConcern: 'majority',
    readPreference: 'primary',
  });

  /** In the order of ids. Read as bytes: making objects of them would take longer than reading them. */
  async function find(filter: Filter<PageDocument>, most: number): Promise<PageDocument[]> {
    const found = await collection.find(filter, { raw: true, batchSize: most + 1 }).toArray();
    return found.map((document) => parsePage(document as unknown as Uint8Array));
  }

  return {
    collection,

    /** Those of the ids that exist, in their order. */
    read: groupCommit(
      async (wanted: string[][]): Promise<PageDocument[][]> => {
        const found = new Map<string, PageDocument>();
        for (const some of inGroups(wanted.flat(), within({ count: READ_AT_ONCE })))
          for (const page of await find({ _id: { $in: some } }, some.length)) found.set(page._id, page);
        return wanted.map((ids) => ids.flatMap((id) => found.get(id) ?? []));
      },
      { inFlight: 2, howMany: (waiting) => fitting(waiting, READ_AT_ONCE, () => 1) },
    ),

    readRange: ({ from, to }: IdRange): Promise<PageDocument[]> =>
      find({ _id: { $gte: from, $lte: to } }, REPLY_DOCUMENTS),

    write: groupCommit(
      async (written: PageDocument[][]): Promise<undefined> => {
        const sized = within({ bytes: INSERT_BYTES, count: INSERT_AT_ONCE }, documentBytes);
        for (const batch of inGroups(written.flat(), sized))
          await collection.insertMany(batch, { ordered: false });
      },
      { inFlight: 2, howMany: (waiting) => fitting(waiting, INSERT_BYTES, documentBytes) },
    ),

    remove: groupCommit(async (groups: IdRange[][]): Promise<undefined> => {
      const deletions = groups.flat().map(({ from, to }) => ({
        deleteMany: { filter: { _id: { $gte: from, $lte: to } } },
      }));
      if (deletions.length > 0) await collection.bulkWrite(deletions, { ordered: false });
    }),
  };
}

/** How many of those that wait make a group of this size. */
function fitting<T>(waiting: readonly { item: T[] }[], most: number, sizeOf: (item: T) => number): number {
  let sum = 0;
  let count = 0;
  for (const { item } of waiting) {
    for (const one of item) sum += sizeOf(one);
    if (sum > most && count > 0) break;
    count++;
  }
  return count;
}

const STRING = 0x02;
const BINARY = 0x05;
const UNDERSCORE = 0x5f;
const D = 0x64;
const K = 0x6b;
/** Up to the bytes of `_id`, and of `d` and `k`: a type, the name with a zero behind it, a length. */
const ID_HEAD = 9;
const HEAD = 7;

/** The fields of a page in BSON, read by hand: there may be ten thousand of them in a look-up. */
function parsePage(bson: Uint8Array): PageDocument {
  const buffer = Buffer.from(bson.buffer, bson.byteOffset, bson.byteLength);
  const page: PageDocument = { _id: '', d: noBytes, k: noBytes };
  for (let at = 4; buffer[at] !== 0; ) {
    const type = buffer[at];
    const name = buffer[at + 1];
    const start = at + (name === UNDERSCORE ? ID_HEAD : HEAD);
    const length = buffer.readInt32LE(start - 4);
    if (type === STRING && name === UNDERSCORE) {
      page._id = buffer.toString('latin1', start, start + length - 1);
      at = start + length;
    } else if (type === BINARY && (name === D || name === K)) {
      at = start + 1 + length;
      page[name === D ? 'd' : 'k'] = bson.subarray(start + 1, at);
    } else throw new TypeError(`a page has a field of type ${type}`);
  }
  return page;
}

const noBytes = new Uint8Array(0);
