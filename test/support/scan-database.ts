/** Where identifiers stand in a database, in whatever form: the bytes of every document are searched. */
import type { Db } from 'mongodb';

/** As text, with and without hyphens, in both cases; and as 16 bytes. */
function formsOf(identifier: string): Buffer[] {
  const plain = identifier.replaceAll('-', '').toLowerCase();
  const hyphenated = plain.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const texts = [plain, hyphenated].flatMap((text) => [text, text.toUpperCase()]);
  return [...texts.map((text) => Buffer.from(text)), Buffer.from(plain, 'hex')];
}

/** `collection: identifier` of everything that is found. */
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
