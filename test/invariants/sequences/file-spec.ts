/** Specifications of partners' files, which can be generated, shrunk, and written with real identifiers and keys. */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';

export const delimiters = [',', '\t', ';', '|'] as const;
export const events = [
  '',
  'install',
  'purchase',
  'a,b;c|d\te',
  'two\nlines',
  'say "hi"',
  'ünï',
  '(other)',
  'x#1',
  '__proto__',
  '$a.b',
  'e'.repeat(256),
];
/** Some have 36 characters, none is an identifier. */
const badIdentifiers = ['', 'nobody', '0000000000-000-0000-0000-000000000000', '\u{1f4f1}', '-'.repeat(36)];
const ZEROS = '00000000-0000-0000-0000-000000000000';
export const DEVICES = 1_500;

type Odd = 'zeros' | 'bad id' | 'bad quotes' | 'no key' | 'unknown key' | 'long event' | 'foreign device';

export interface FileSpec {
  layout: 'attributes' | 'audience';
  delimiter: (typeof delimiters)[number];
  crlf: boolean;
  mark: boolean;
  header: string | null;
  blankLines: boolean;
  lastNewline: boolean;
  quoteAll: boolean;
  upperCase: boolean;
  /** Valid rows: devices `first`, `first + 1`, … */
  first: number;
  rows: number;
  /** Indexes into the keys or events; each row has one of them, or all in layouts that allow several. */
  picks: number[];
  severalKeys: boolean;
  /** If above 0, the number of event values. */
  manyEvents: number;
  odd: Odd[];
  /** Malformed rows: as many as `odd` contains, exactly the allowed share, or one more. */
  invalid: 'as it comes' | 'at the limit' | 'over the limit';
  flaw: 'none' | 'columns' | 'binary' | 'nul' | 'half a character' | 'long line' | 'empty' | 'header only';
  packing: 'as named' | 'plain' | 'gzip' | 'members' | 'truncated';
}

const weighted = <T>(...choices: [number, T][]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

export const fileSpec: fc.Arbitrary<Omit<FileSpec, 'layout'>> = fc.record({
  delimiter: fc.constantFrom(...delimiters),
  crlf: fc.boolean(),
  mark: fc.boolean(),
  header: fc.constantFrom(null, null, 'device_id', '"MAID"', ' idfa '),
  blankLines: fc.boolean(),
  lastNewline: fc.boolean(),
  quoteAll: fc.boolean(),
  upperCase: fc.boolean(),
  first: fc.integer({ min: 0, max: DEVICES - 1 }),
  rows: weighted<number>([1, 1], [1, 30], [2, 130], [2, 300], [2, 650]),
  picks: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 3 }),
  severalKeys: fc.boolean(),
  manyEvents: weighted<number>([12, 0], [1, 999], [1, 1_000], [1, 1_001], [1, 1_300]),
  odd: fc.array(
    weighted<Odd>(
      [8, 'foreign device'],
      [5, 'zeros'],
      [1, 'bad id'],
      [1, 'bad quotes'],
      [1, 'no key'],
      [1, 'unknown key'],
      [1, 'long event'],
    ),
    { maxLength: 8 },
  ),
  invalid: weighted<FileSpec['invalid']>([8, 'as it comes'], [1, 'at the limit'], [1, 'over the limit']),
  flaw: weighted<FileSpec['flaw']>(
    [40, 'none'],
    [2, 'columns'],
    [1, 'binary'],
    [1, 'nul'],
    [1, 'half a character'],
    [1, 'long line'],
    [1, 'empty'],
    [1, 'header only'],
  ),
  packing: weighted<FileSpec['packing']>(
    [20, 'as named'],
    [1, 'plain'],
    [1, 'gzip'],
    [2, 'members'],
    [1, 'truncated'],
  ),
});

/** The values that a specification's indexes stand for. */
interface FileContext {
  /** 8 hex digits, unique per sequence. */
  tag: string;
  keys: string[];
  unknownKey: string;
  path: string;
}

export const device = (tag: string, number: number) =>
  `${tag}-0000-4000-8000-${(number % DEVICES).toString(16).padStart(12, '0')}`;

export function writeFile(spec: FileSpec, around: FileContext): Buffer {
  const text = spec.flaw === 'empty' ? Buffer.alloc(0) : Buffer.concat(textOf(spec, around));
  const gzip = spec.packing === 'as named' ? around.path.endsWith('.gz') : spec.packing !== 'plain';
  if (!gzip) return text;
  const half = text.length >> 1;
  if (spec.packing === 'members')
    return Buffer.concat(
      [text.subarray(0, half), Buffer.alloc(0), text.subarray(half)].map((part) => gzipSync(part)),
    );
  const packed = gzipSync(text);
  // Only if nothing else fails the file: in a long file, the earlier failure would win.
  return spec.packing === 'truncated' && spec.flaw === 'none'
    ? packed.subarray(0, packed.length - 9)
    : packed;
}

function textOf(spec: FileSpec, { tag, keys, unknownKey }: FileContext): Buffer[] {
  const { delimiter, layout } = spec;
  const end = spec.crlf ? '\r\n' : '\n';
  const quote = (value: string) =>
    spec.quoteAll || /["\r\n]/.test(value) || value.includes(delimiter)
      ? `"${value.replaceAll('"', '""')}"`
      : value;
  const cased = (id: string) => (spec.upperCase ? id.toUpperCase() : id);
  const line = (...fields: string[]) => fields.map(quote).join(delimiter) + end;

  // A flaw in the bytes must be the file's only flaw, so that the expected failure is unambiguous.
  const byBytes = ['binary', 'nul', 'half a character'].includes(spec.flaw) || spec.packing === 'truncated';
  const values = layout === 'audience' ? events : keys.length > 0 ? keys : [unknownKey];
  const pick = (n: number) => values[spec.picks[n % spec.picks.length]! % values.length]!;
  const several = layout === 'attributes' && spec.severalKeys && !byBytes;
  const valuesOf = (n: number): string[] => {
    if (layout === 'audience' && spec.manyEvents > 0) return [n === 0 ? '' : `event ${n % spec.manyEvents}`];
    return several ? spec.picks.map((_, place) => pick(place)) : [pick(n)];
  };

  const bad = (n: number) => line(badIdentifiers[n % badIdentifiers.length]!, pick(n));
  const odd: Record<Odd, (n: number) => string> = {
    zeros: (n) => line(ZEROS, pick(n)),
    'bad id': bad,
    'bad quotes': (n) => `"${device(tag, n)}"x${delimiter}${quote(pick(n))}${end}`,
    'no key': (n) => line(device(tag, n), ''),
    'unknown key': (n) => line(device(tag, n), unknownKey),
    'long event': (n) => line(device(tag, n), 'e'.repeat(257)),
    'foreign device': (n) => line(device(`${tag.slice(0, 7)}f`, n), pick(n)),
  };

  let count = layout === 'audience' && spec.manyEvents > 0 ? spec.manyEvents + 40 : spec.rows;
  let oddRows = spec.odd.map((kind, n) => odd[kind](n));
  if (spec.invalid !== 'as it comes') {
    const many = 1 + (count % 7);
    count = spec.invalid === 'at the limit' ? 19 * many : 19 * many - 1;
    oddRows = Array.from({ length: many }, (_, n) => bad(n));
  }
  if (spec.flaw === 'header only') count = 0;
  const rows = Array.from({ length: count }, (_, n) =>
    line(cased(device(tag, spec.first + n)), ...valuesOf(n)),
  );
  const every = Math.max(1, Math.floor(rows.length / (oddRows.length + 1)));
  if (spec.flaw !== 'header only')
    for (const [n, row] of oddRows.entries()) rows.splice((n + 1) * every, 0, row);
  if (spec.blankLines) rows.splice(rows.length >> 1, 0, end, ` \t${end}`);
  const middle = rows.length >> 1;
  if (spec.flaw === 'columns') rows.splice(middle, 0, line(device(tag, 1), ...(spec.mark ? [] : ['a', 'b'])));
  if (spec.flaw === 'long line') rows.splice(middle, 0, line(device(tag, 1), 'l'.repeat(65_600)));
  const header = spec.flaw === 'header only' ? 'gaid' : spec.header;
  if (header !== null) rows.unshift(`${header}${delimiter}value${end}`);
  const head = (spec.mark ? '\ufeff' : '') + (spec.blankLines ? end : '');
  let whole = head + rows.join('');
  if (!spec.lastNewline) whole = whole.replace(/\r?\n$/, '');
  const bytes = [Buffer.from(whole)];
  if (spec.flaw === 'nul') bytes.push(Buffer.from(`\n${device(tag, 1)}${delimiter}\0\n`));
  if (spec.flaw === 'half a character') bytes.push(Buffer.of(0x0a, 0x61, 0xc3));
  if (spec.flaw === 'binary') bytes.unshift(Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00));
  return bytes;
}
