/** Parses a JSON array like JSON.parse, wherever its text is split. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readArray } from '../../../deploy/cli/load/read-array.ts';

async function read(chunks: Iterable<string>): Promise<unknown[]> {
  async function* each() {
    yield* chunks;
  }
  const found: unknown[] = [];
  for await (const element of readArray(each())) found.push(element);
  return found;
}

function* cutInto(text: string, size: number) {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

it('any values, cut anywhere, with and without spaces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue()),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(0, 2),
      async (values, size, indent) => {
        const text = JSON.stringify(values, undefined, indent);
        expect(await read(cutInto(text, size))).toEqual(JSON.parse(text));
      },
    ),
  );
});

it('what looks like structure inside a string is none', async () => {
  const values = [{ a: '],[{"\\"' }, '\\', '"', 'a\\"b,', []];
  for (const size of [1, 2, 3, 1_000])
    expect(await read(cutInto(JSON.stringify(values), size))).toEqual(values);
});
