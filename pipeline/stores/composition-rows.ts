/**
 * The attribute rows of composition reports, rendered when the report was computed; one document is a chunk of a response. They belong to
 * the token of the computation. Rows that no report references expire after a delay, so that responses from a replaced report can finish.
 */
import { Binary, type Db } from 'mongodb';
import type { CompositionRowsDocument } from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';

/** An index of the rows, and the text in each format (api/resources/composition/attribute-rows.ts). */
export interface RenderedRows {
  index: Uint8Array;
  json: Uint8Array;
  csv: Uint8Array;
}
export interface StoredRows {
  index: Buffer;
  text: Buffer;
}

/** Longer than storing a report takes. */
const UNFINISHED_MS = 3_600_000;
/** Longer than a client should take to read a report. Reports may be replaced every few seconds. */
const REPLACED_MS = 5 * 60_000;
const DIGITS = 8;

const inMs = (ms: number) => ({ $add: ['$$NOW', ms] });
const idOf = (token: string, part: number) => `${token}/${String(part).padStart(DIGITS, '0')}`;
const partsOf = (token: string) => ({ _id: { $gte: idOf(token, 0), $lte: `${token}/~` } });

export function createCompositionRowStore(db: Db) {
  const rows = db.collection<CompositionRowsDocument>(collections.compositionRows);
  const expiring = [{ $set: { expiresAt: inMs(REPLACED_MS) } }];

  return {
    /** Rows expire unless `keep` is called. */
    add: (
      { token, audience, generation }: { token: string; audience: number; generation: number },
      part: number,
      { index, json, csv }: RenderedRows,
    ) => {
      const document = { audience, generation, index, json, csv };
      const literal = Object.fromEntries(
        Object.entries(document).map(([name, value]) => [
          name,
          { $literal: typeof value === 'number' ? value : new Binary(value) },
        ]),
      );
      return rows.updateOne(
        { _id: idOf(token, part) },
        [{ $set: { ...literal, expiresAt: inMs(UNFINISHED_MS) } }],
        { upsert: true },
      );
    },

    keep: (token: string) => rows.updateMany(partsOf(token), { $unset: { expiresAt: '' } }),
    expire: (token: string) => rows.updateMany(partsOf(token), expiring),
    /** Lets rows of cleared generations expire. */
    expireBelow: (audience: number, generation: number) =>
      rows.updateMany({ audience, generation: { $lt: generation }, expiresAt: { $exists: false } }, expiring),

    /** In order. */
    async *read(token: string, format: 'json' | 'csv'): AsyncGenerator<StoredRows> {
      const found = rows
        .find(partsOf(token), { projection: { index: 1, [format]: 1 }, promoteBuffers: true, batchSize: 16 })
        .sort({ _id: 1 });
      for await (const document of found) {
        const { index, [format]: text } = document as unknown as Record<string, Buffer>;
        yield { index: index!, text: text! };
      }
    },
  };
}
