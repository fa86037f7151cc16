/** Files with every oddity that partners send, for property tests. */
import fc from 'fast-check';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: length, maxLength: length });
const freshIdentifier = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((groups) => groups.join('-'));
/** Few, so that devices repeat, in either case. */
const knownIdentifier = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.boolean()).map(([number, upper]) => {
  const text = `abcdef${String(number).padStart(2, '0')}-0000-4000-8000-0000000000ff`;
  return upper ? text.toUpperCase() : text;
});
const oddIdentifier = fc.constantFrom(
  '00000000-0000-0000-0000-000000000000',
  '00000000-0000-0000-0000-00000000000',
  '0000000000-000-0000-0000-000000000000',
  'abcdef01-0000-4000-8000-0000000000fg',
  'abcdef01-0000-4000-8000-0000000000ff0',
  ' abcdef01-0000-4000-8000-0000000000ff',
  'abcdef01_0000-4000-8000-0000000000ff',
  'abcdef0100004000800000000000000000ff',
  '',
  'id',
  'ü',
);
const identifier = fc.oneof(
  { weight: 6, arbitrary: freshIdentifier },
  { weight: 6, arbitrary: knownIdentifier },
  { weight: 2, arbitrary: oddIdentifier },
);

export const KEYS = new Map([
  ['5', 5],
  ['17', 17],
  ['seg,ment', 5],
  ['über|key', 900_000_017],
  ['two\nlines', 6],
  ['say "hi"', 7],
  ['a;b\tc', 8],
]);
const attributeKey = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...KEYS.keys()) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('', '05', '+5', ' 5', '5 ', 'nobody’s', '1', '55555555555555555555', '""'),
  },
);
const event = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '',
      'install',
      'purchase',
      'ünï "quoted"',
      'a,b;c|d\te',
      'line\nbreak',
      '"',
      'x\r',
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', '')),
  },
  { weight: 1, arbitrary: fc.integer({ min: 250, max: 260 }).map((length) => 'e'.repeat(length)) },
);

/** A field as a careful, a careless or a broken writer writes it. */
const written = (value: fc.Arbitrary<string>, delimiter: string) =>
  fc.tuple(value, fc.integer({ min: 0, max: 40 })).map(([text, manner]) => {
    const quoted = `"${text.replaceAll('"', '""')}"`;
    if (manner === 0) return `${quoted}junk`;
    if (manner === 1) return `"${text}`;
    if (manner === 2) return text;
    if (manner === 5) return ` ${quoted}  `;
    const needed = /["\r\n]/.test(text) || text.includes(delimiter);
    if (manner === 7 && !needed) return `  ${text} `;
    return needed || manner % 2 === 0 ? quoted : text;
  });

const lineEnd = fc.oneof(
  { weight: 5, arbitrary: fc.constant('\n') },
  { weight: 5, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n\n', '\r\n \t\r\n', '\n\t\n', '\r\r\n') },
);

export interface GeneratedFile {
  bytes: Buffer;
  layout: 'attributes' | 'audience';
}

export const generatedFile: fc.Arbitrary<GeneratedFile> = fc
  .record({
    layout: fc.constantFrom('attributes' as const, 'audience' as const),
    delimiter: fc.constantFrom(',', '\t', ';', '|'),
  })
  .chain(({ layout, delimiter }) => {
    const keys =
      layout === 'audience'
        ? written(event, delimiter).map((text) => [text])
        : fc.array(written(attributeKey, delimiter), { maxLength: 4 });
    const row = fc
      .tuple(written(identifier, delimiter), keys, fc.integer({ min: 0, max: 300 }))
      .map(([first, rest, extra]) => [first, ...rest, ...(extra === 0 ? ['one more'] : [])].join(delimiter));
    const header = fc
      .constantFrom('device_id', 'MAID', '"Idfa"', ' id ', 'name', '"a""b"')
      .map((name) => `${name}${delimiter}key`);
    // Bytes that fail the whole file. Only where no row can fail it, too, so that the first failure is unambiguous.
    const poison = layout === 'audience' ? fc.constant('') : fc.constantFrom('', '', '', '\0', '\u{10ffff}');
    return fc
      .record({
        mark: fc.constantFrom('', '\ufeff'),
        head: fc.constantFrom('', '', '\n', ' \r\n\n', '\t\n'.repeat(700)),
        header: fc.option(header, { nil: null }),
        rows: fc.array(fc.tuple(row, lineEnd), { maxLength: 120 }),
        lastEnd: fc.constantFrom('', '\n', '\r\n', '\r'),
        poison,
        badUtf8: fc.integer({ min: 0, max: 40 }),
      })
      .map(({ mark, head, header, rows, lastEnd, poison, badUtf8 }) => {
        const body = rows.map(([text, end]) => text + end).join('');
        const text = `${mark}${head}${header === null ? '' : `${header}\n`}${body.replace(/\r?\n$/, lastEnd)}${poison}`;
        const bytes = Buffer.from(text);
        if (layout === 'attributes' && badUtf8 === 0 && bytes.length > 50) bytes[bytes.length >> 1] = 0xc3;
        return { layout, bytes };
      });
  });

/** Larger than the cutter's window, so that it cuts before it has seen the end; with rows around every limit. */
export const largeFile: fc.Arbitrary<GeneratedFile> = fc
  .tuple(
    generatedFile,
    fc.integer({ min: 1, max: 40 }),
    fc.array(fc.constantFrom(900, 1_000, 1_100, 4_000, 65_400, 65_535, 65_536, 65_537, 65_538, 70_000), {
      maxLength: 3,
    }),
    fc.boolean(),
  )
  .map(([{ bytes, layout }, times, lengths, quoted]) => {
    const parts: Buffer[] = [bytes];
    for (const length of lengths) {
      for (let time = 0; time < times; time++) parts.push(Buffer.from('\n'), bytes.subarray(0, 20_000));
      const filler = quoted ? `"${'é\n,'.repeat(Math.floor((length - 2) / 4))}"` : '';
      parts.push(
        Buffer.from(`\n${filler.padStart(length - (Buffer.byteLength(filler) - filler.length), 'x')}\r\n`),
      );
    }
    return { layout, bytes: Buffer.concat(parts) };
  });
/** The same bytes in chunks whose sizes repeat. */
export function inChunks(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
