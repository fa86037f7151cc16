/** DROP sessions: batches, their entries and statuses in packed parts, and amendments. */
import { Binary, type Db } from 'mongodb';
import { DIGEST_BYTES } from '../../pipeline/formats/device-digest.ts';
import { collections } from '../../schemas/documents.ts';
import {
  type DropAmendmentDocument,
  type DropBatchDocument,
  type DropPartDocument,
  DropStatus,
} from '../../schemas/drop-documents.ts';

export type DropStore = ReturnType<typeof createDropStore>;

/** About 900 KB. */
export const PART_ENTRIES = 20_000;
const ID_BYTES = 12;
const PADDING = 6;

export interface DropPart {
  batch: number;
  file: number;
  number: number;
}

/** Zero-padded, so that ids sort by number. */
const padded = (n: number) => String(n).padStart(PADDING, '0');
const fileId = (batch: number, file: number | 'archive') =>
  `${padded(batch)}/${typeof file === 'number' ? padded(file) : file}/`;
export const partId = ({ batch, file, number }: DropPart): string => fileId(batch, file) + padded(number);
const statusId = (part: string) => `${part}/status`;
const ENTRIES = /^\d+\/\d+\/\d+$/;
export const parsePart = (id: string): DropPart => {
  const [batch, file, number] = id.split('/').map(Number) as [number, number, number];
  return { batch, file, number };
};
const bytesOf = (binary: Binary | undefined): Buffer => Buffer.from(binary?.value() ?? []);

/** The stored entries of a part. */
export interface DropEntries {
  part: DropPart;
  ids: Buffer;
  /** Empty for lists that are not about advertising identifiers. */
  digests: Buffer;
}
export const countOf = ({ ids }: Pick<DropEntries, 'ids'>): number => ids.length / ID_BYTES;
export const idAt = (ids: Buffer, n: number): string =>
  ids.toString('latin1', n * ID_BYTES, (n + 1) * ID_BYTES);
export const digestAt = (digests: Buffer, n: number): Buffer =>
  digests.subarray(n * DIGEST_BYTES, (n + 1) * DIGEST_BYTES);

export function createDropStore(db: Db) {
  const batches = db.collection<DropBatchDocument>(collections.dropBatches);
  const parts = db.collection<DropPartDocument>(collections.dropParts);
  const amendments = db.collection<DropAmendmentDocument>(collections.dropAmendments);
  const put = ({ _id, ...rest }: DropPartDocument) => parts.replaceOne({ _id }, rest, { upsert: true });
  const inFile = (batch: number, file: number | 'archive') => {
    const from = fileId(batch, file);
    return { $gte: from, $lt: `${from}~` };
  };

  async function* entriesIn(range: { $gte: string; $lt: string }): AsyncGenerator<DropEntries> {
    // Paged by id: a cursor would time out during a long step.
    for (let after: object = range; ; ) {
      const found = await parts
        .find({ _id: after as never })
        .sort({ _id: 1 })
        .limit(8)
        .toArray();
      for (const { _id, ids, digests } of found)
        if (ENTRIES.test(_id)) yield { part: parsePart(_id), ids: bytesOf(ids), digests: bytesOf(digests) };
      if (found.length === 0) return;
      after = { $gt: found.at(-1)!._id, $lt: range.$lt };
    }
  }

  return {
    /** The newest batch without a response to all of its entries, including one that the platform may have opened. */
    open: (): Promise<DropBatchDocument | null> => batches.findOne({ state: { $ne: 'complete' } }),
    find: (_id: number): Promise<DropBatchDocument | null> => batches.findOne({ _id }),
    newest: (): Promise<DropBatchDocument | null> => batches.findOne({}, { sort: { _id: -1 } }),
    lastComplete: (): Promise<DropBatchDocument | null> =>
      batches.findOne({ state: 'complete' }, { sort: { _id: -1 } }),
    list: (limit: number): Promise<DropBatchDocument[]> =>
      batches.find().sort({ _id: -1 }).limit(limit).toArray(),

    /** Stored before the request to the platform, which may open a batch even if its response is lost. */
    async begin(now: Date): Promise<DropBatchDocument> {
      const last = await batches.findOne({}, { sort: { _id: -1 } });
      const batch: DropBatchDocument = {
        _id: (last?._id ?? 0) + 1,
        state: 'requested',
        requestedAt: now,
        ...{ bytes: 0, files: [], unreadable: 0, matched: 0, withdrawn: 0, requests: [], uploads: [] },
      };
      await batches.insertOne(batch);
      return batch;
    },

    async update(_id: number, changes: Partial<DropBatchDocument>): Promise<DropBatchDocument> {
      const options = { returnDocument: 'after' } as const;
      return (await batches.findOneAndUpdate({ _id }, { $set: changes }, options))!;
    },

    /** Of all batches. */
    requests: async (): Promise<number[]> => batches.distinct('requests'),

    async addRequest(_id: number, request: number): Promise<void> {
      await batches.updateOne({ _id }, { $addToSet: { requests: request } });
    },

    putArchive: (batch: number, number: number, bytes: Uint8Array) =>
      put({ _id: fileId(batch, 'archive') + padded(number), archive: new Binary(bytes) }),

    async *archive(batch: number, pieces: number): AsyncGenerator<Buffer> {
      for (let n = 0; n < pieces; n++) {
        const piece = await parts.findOne({ _id: fileId(batch, 'archive') + padded(n) });
        if (!piece) throw new Error(`piece ${n} of the archive of batch ${batch} is missing`);
        yield bytesOf(piece.archive);
      }
    },

    putEntries: ({ part, ids, digests }: DropEntries) =>
      put({
        _id: partId(part),
        ids: new Binary(ids),
        ...(digests.length > 0 ? { digests: new Binary(digests) } : {}),
      }),

    entries: (batch: number, file: number) => entriesIn(inFile(batch, file)),
    /** Of all batches. Entries of lists that are not about advertising identifiers are removed when their batch is complete. */
    allEntries: () => entriesIn({ $gte: '0', $lt: ':' }),

    async statuses(part: DropPart): Promise<Buffer | undefined> {
      const found = await parts.findOne({ _id: statusId(partId(part)) });
      return found ? bytesOf(found.statuses) : undefined;
    },
    putStatuses: (part: DropPart, statuses: Uint8Array) =>
      put({ _id: statusId(partId(part)), statuses: new Binary(statuses) }),

    removeArchive: (batch: number) => parts.deleteMany({ _id: inFile(batch, 'archive') as never }),
    removeEntries: (batch: number, file: number) => parts.deleteMany({ _id: inFile(batch, file) as never }),

    pendingAmendment: (): Promise<DropAmendmentDocument | null> => amendments.findOne({ state: 'pending' }),
    async nextAmendment(): Promise<number> {
      const last = await amendments.findOne({}, { sort: { _id: -1 } });
      return (last?._id ?? 0) + 1;
    },
    addAmendment: (amendment: DropAmendmentDocument) => amendments.insertOne(amendment),
    setAmendment: (_id: number, changes: Partial<DropAmendmentDocument>) =>
      amendments.updateOne({ _id }, { $set: changes }),

    /** For metrics: entries without an accepted status, and rejected uploads. */
    async summary(): Promise<{ last: Date | undefined; open: number; rejected: number }> {
      const [last, open, pending] = await Promise.all([
        batches.findOne({ state: 'complete' }, { sort: { _id: -1 }, projection: { completedAt: 1 } }),
        batches.findOne({ state: { $ne: 'complete' } }),
        amendments.findOne({ state: 'pending' }),
      ]);
      const accepted = (open?.uploads ?? []).filter(({ state }) => state === 'accepted');
      const answered = accepted.reduce((sum, { from, to }) => sum + to - from, 0);
      const asked = (open?.files ?? []).reduce(
        (sum, { list, entries }) => sum + (list === 'Removed' ? 0 : entries),
        0,
      );
      const toAmend = (pending?.files ?? []).filter(({ state }) => state !== 'accepted');
      return {
        last: last?.completedAt,
        open: asked - answered + toAmend.reduce((sum, { ids }) => sum + ids.length, 0),
        rejected: (open?.uploads ?? []).filter(
          ({ state, rejections }) => state !== 'accepted' && rejections.length > 0,
        ).length,
      };
    },
  };
}

export const undecided = (count: number): Buffer => Buffer.alloc(count, DropStatus.undecided);
