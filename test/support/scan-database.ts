/** Finds identifiers in a database in any encoding by searching the bytes of every document. */
import type { Db } from 'mongodb';

/** As text in both cases, with and without hyphens, and as 16 bytes. */
function formsOf(identifier: string): Buffer[] {
  const plain = identifier.replaceAll('-', '').toLowerCase();
  const hyphenated = plain.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const texts = [plain, hyphenated].flatMap((text) => [text, text.toUpperCase()]);
  return [...texts.map((text) => Buffer.from(text)), Buffer.from(plain, 'hex')];
}

const HASH_BITS = 20;
const hashOf = (word: number) => Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);

/** Searches bytes for all identifiers in one pass: a table of what their first four bytes hash to rules out almost every place. */
export function createSearch(identifiers: Iterable<string>): (all: Buffer) => Set<string> {
  const isFirst = new Uint8Array(1 << HASH_BITS);
  const byWord = new Map<number, { identifier: string; bytes: Buffer }[]>();
  for (const identifier of identifiers)
    for (const bytes of formsOf(identifier)) {
      const word = bytes.readInt32LE();
      isFirst[hashOf(word)] = 1;
      byWord.set(word, [...(byWord.get(word) ?? []), { identifier, bytes }]);
    }
  return (all) => {
    const found = new Set<string>();
    let word = 0;
    for (let end = 1; end <= all.length; end++) {
      word = (word >>> 8) | (all[end - 1]! << 24);
      if (end < 4 || isFirst[hashOf(word)] === 0) continue;
      for (const { identifier, bytes } of byWord.get(word) ?? [])
        if (all.subarray(end - 4, end - 4 + bytes.length).equals(bytes)) found.add(identifier);
    }
    return found;
  };
}

/** `collection: identifier` for each match. */
export async function findInDatabase(db: Db, identifiers: Iterable<string>): Promise<string[]> {
  const search = createSearch(identifiers);
  const found: string[] = [];
  for (const { name } of await db.listCollections().toArray()) {
    const documents: Buffer[] = [];
    for await (const document of db.collection(name).find({}, { raw: true }))
      documents.push(document as unknown as Buffer);
    for (const identifier of search(Buffer.concat(documents))) found.push(`${name}: ${identifier}`);
  }
  return found.sort();
}
