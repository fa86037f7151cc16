/**
 * Generates files of rows `<identifier>,<key>`, deterministic by seed, at about memory speed. Identifiers are computed from device
 * numbers, so expected counts are known without storing rows.
 */
import { createIdentifiers, IDENTIFIER_TEXT, mix } from './identifiers.ts';

const COMMA = 0x2c;
const NEWLINE = 0x0a;

export interface GeneratorOptions {
  readonly seed: number;
  /** The share of rows that repeat an earlier row. */
  readonly duplicates: number;
  /** The second column: each device always has the same key. */
  readonly keys: readonly string[];
  /** The number of the first device; other files have the devices before it. */
  readonly firstDevice?: number;
  readonly invalid?: InvalidRows;
}

interface InvalidRows {
  /** Share of every file's rows, rounded down, so that no file exceeds it. */
  readonly share: number;
  /** Used in turn. */
  readonly rows: readonly string[];
}

interface FileOptions {
  readonly rows: number;
  /** Every row has this key, and duplicates only rows of its own file, so that files are independent of each other. */
  readonly onlyKey?: number;
}

export interface GeneratedFile {
  readonly bytes: Buffer;
  readonly rows: number;
  /** Devices not in earlier files. */
  readonly newDevices: number;
}

export interface GeneratedCounts {
  readonly rows: number;
  readonly devices: number;
  /** Distinct devices by key, in the order of the keys. */
  readonly devicesByKey: readonly number[];
  /** How often each invalid row was written. */
  readonly invalid: readonly number[];
}

export type Generator = ReturnType<typeof createGenerator>;

const noneInvalid: InvalidRows = { share: 0, rows: [] };

export function createGenerator({
  seed,
  duplicates,
  keys,
  firstDevice = 0,
  invalid = noneInvalid,
}: GeneratorOptions) {
  const keyBytes = keys.map((key) => Buffer.from(key));
  const longestKey = Math.max(...keyBytes.map((key) => key.length));
  const invalidBytes = invalid.rows.map((row) => Buffer.from(`${row}\n`));
  const longestRow = Math.max(IDENTIFIER_TEXT + 2 + longestKey, ...invalidBytes.map((row) => row.length));
  const invalidCounts = invalid.rows.map(() => 0);
  const duplicateBelow = Math.floor(duplicates * 2 ** 32);
  const devicesByKey = keys.map(() => 0);
  const identifiers = createIdentifiers(seed);
  let state = mix(seed) | 0;
  let devices = firstDevice;
  let rows = 0;
  let nextInvalid = 0;

  /** splitmix32 */
  const random = () => {
    state = (state + 0x9e3779b9) | 0;
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };

  /** The device of the next row: a new one, or a duplicate of one from `first` on. */
  const nextDevice = (first: number, onlyKey: number | undefined): number => {
    if (devices > first && random() < duplicateBelow) return first + (random() % (devices - first));
    devicesByKey[onlyKey ?? devices % keys.length]!++;
    return devices++;
  };

  const isInvalid = (row: number) => Math.floor((row + 1) * invalid.share) > Math.floor(row * invalid.share);

  function nextFile({ rows: count, onlyKey }: FileOptions): GeneratedFile {
    const bytes = Buffer.allocUnsafe(count * longestRow);
    const devicesBefore = devices;
    const first = onlyKey === undefined ? firstDevice : devices;
    let at = 0;
    for (let row = 0; row < count; row++) {
      if (isInvalid(row)) {
        const kind = nextInvalid++ % invalidBytes.length;
        invalidCounts[kind]!++;
        at += invalidBytes[kind]!.copy(bytes, at);
        continue;
      }
      const device = nextDevice(first, onlyKey);
      identifiers.writeText(bytes, at, device);
      at += IDENTIFIER_TEXT;
      bytes[at++] = COMMA;
      const key = keyBytes[onlyKey ?? device % keyBytes.length]!;
      for (let i = 0; i < key.length; i++) bytes[at++] = key[i]!;
      bytes[at++] = NEWLINE;
    }
    rows += count;
    return { bytes: bytes.subarray(0, at), rows: count, newDevices: devices - devicesBefore };
  }

  return {
    nextFile,
    /** Totals of all files so far. */
    counts: (): GeneratedCounts => ({
      rows,
      devices: devices - firstDevice,
      devicesByKey: [...devicesByKey],
      invalid: [...invalidCounts],
    }),
  };
}
