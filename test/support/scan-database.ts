/** Finds identifiers in a database in any encoding by searching the bytes of every document. */
import type { Db } from 'mongodb';

/** As text in both cases, with and without hyphens, and as 16 bytes. */
function formsOf(identifier: string): Buffer[] {
  const plain = identifier.replaceAll('-', '').toLowerCase();
  const hyphenated = plain.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const texts = [plain, hyphenated].flatMap((text) => [text, text.toUpperCase()]);
  return [...texts.map((text) => Buffer.from(text)), Buffer.from(plain, 'hex')];
}

/** `collection: identifier` for each match. */
export async function findInDatabase(db: Db, identifiers: Iterable<string>): Promise<string[]> {
  const wanted = [...identifiers].flatMap((identifier) =>
    formsOf(identifier).map((bytes) => ({ identifier, bytes })),
  );
  const found = new Set<string>();
  for (const { name } of await db.listCollections().toArray()) {
    const documents: Buffer[] = [];
    for await (const document of db.collection(name).find({}, { raw: true }))
      documents.push(document as unknown as Buffer);
    const all = Buffer.concat(documents);
    for (const { identifier, bytes } of wanted) if (all.includes(bytes)) found.add(`${name}: ${identifier}`);
  }
  return [...found].sort();
}
