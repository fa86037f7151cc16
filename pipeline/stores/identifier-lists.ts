/**
 * Identifiers of privacy requests without a file: encrypted, in parts, erased when the job ends. They are stored before the job; a TTL
 * index removes lists whose job was never stored.
 */
import { randomUUID } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { IdentifierListDocument } from '../../schemas/stage-documents.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { seal, unseal } from '../runtime/seal.ts';
import { resealAll } from './reseal-all.ts';

export type IdentifierListStore = ReturnType<typeof createIdentifierListStore>;

/** About 2 MB. */
const PART = 50_000;
const contextOf = (list: string, part: number) => `identifiers ${list}.${part}`;

export function createIdentifierListStore(db: Db) {
  const lists = db.collection<IdentifierListDocument>(collections.identifierLists);

  return {
    /** Identifiers in the 8-4-4-4-12 form. Returns the name of the list. */
    async store(identifiers: readonly string[], secret: Uint8Array): Promise<string> {
      const list = randomUUID();
      let part = 0;
      for (const group of inGroups(identifiers, within({ count: PART }))) {
        const text = group.map((identifier) => `${identifier}\n`).join('');
        const sealed = new Binary(seal(secret, text, contextOf(list, part)));
        await lists.insertOne({
          _id: `${list}.${part}`,
          list,
          part,
          bytes: text.length,
          sealed,
          createdAt: new Date(),
        });
        part++;
      }
      return list;
    },

    async size(list: string): Promise<number> {
      const parts = await lists.find({ list }).project<{ bytes: number }>({ bytes: 1 }).toArray();
      return parts.reduce((sum, { bytes }) => sum + bytes, 0);
    },

    /** One identifier per line. */
    async *read(list: string, secrets: readonly Uint8Array[]): AsyncGenerator<Buffer> {
      for await (const { part, sealed } of lists.find({ list }).sort({ part: 1 }))
        yield Buffer.from(unseal(secrets, sealed, contextOf(list, part)));
    },

    /** Those that the current secret, the first, has not sealed. Returns how many there were. */
    reseal: (secrets: readonly Uint8Array[]) =>
      resealAll(lists, lists.find().sort({ list: 1, part: 1 }), secrets, ({ list, part }) =>
        contextOf(list, part),
      ),

    remove: (list: string) => lists.deleteMany({ list }),
  };
}
