/**
 * Files of rows `<identifier>,<key>`, the same for the same seed, about as fast as memory takes them. Nothing is remembered of
 * a row: an identifier is a function of its device's number, so what must come out is known by counting, not by looking.
 */
const DASH = 0x2d;
const COMMA = 0x2c;
const NEWLINE = 0x0a;
const IDENTIFIER_TEXT = 36;

/** The two digits of every byte. */
const HIGH = new Uint8Array(256);
const LOW = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  HIGH[byte] = byte.toString(16).padStart(2, '0').charCodeAt(0);
  LOW[byte] = byte.toString(16).padStart(2, '0').charCodeAt(1);
}

/** Murmur's finalizer. A bijection of 32 bits: two numbers never give the same word, so two devices never the same identifier. */
function mix(number: number): number {
  let word = number | 0;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return word ^ (word >>> 16);
}

export interface GeneratorOptions {
  readonly seed: number;
  /** The share of rows that repeat an earlier row. */
  readonly duplicates: number;
  /** The second column: a device has one of them, and always the same. */
  readonly keys: readonly string[];
}

export interface FileOptions {
  readonly rows: number;
  /** Every row has this key, and repeats only rows of its own file: files are then independent of each other. */
  readonly onlyKey?: number;
}

export interface GeneratedFile {
  readonly bytes: Buffer;
  readonly rows: number;
  /** Devices that no earlier file has. */
  readonly newDevices: number;
}

export interface GeneratedCounts {
  readonly rows: number;
  readonly devices: number;
  /** Different devices by key, in the order of the keys. */
  readonly devicesByKey: readonly number[];
}

export type Generator = ReturnType<typeof createGenerator>;

export function createGenerator({ seed, duplicates, keys }: GeneratorOptions) {
  const keyBytes = keys.map((key) => Buffer.from(key));
  const longestKey = Math.max(...keyBytes.map((key) => key.length));
  const duplicateBelow = Math.floor(duplicates * 2 ** 32);
  const devicesByKey = keys.map(() => 0);
  const salt = mix(seed + 0x6a09e667);
  let state = mix(seed) | 0;
  let devices = 0;
  let rows = 0;

  /** splitmix32 */
  const random = () => {
    state = (state + 0x9e3779b9) | 0;
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (word ^ (word >>> 15)) >>> 0;
  };

  /** Which device the next row names: a new one, or one of those from `first` on. */
  const nextDevice = (first: number, onlyKey: number | undefined): number => {
    if (devices > first && random() < duplicateBelow) return first + (random() % (devices - first));
    devicesByKey[onlyKey ?? devices % keys.length]!++;
    return devices++;
  };

  function nextFile({ rows: count, onlyKey }: FileOptions): GeneratedFile {
    const bytes = Buffer.allocUnsafe(count * (IDENTIFIER_TEXT + 2 + longestKey));
    const devicesBefore = devices;
    const first = onlyKey === undefined ? 0 : devices;
    let at = 0;
    for (let row = 0; row < count; row++) {
      const device = nextDevice(first, onlyKey);
      writeIdentifier(bytes, at, device, salt);
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
    /** Of all files so far. */
    counts: (): GeneratedCounts => ({ rows, devices, devicesByKey: [...devicesByKey] }),
  };
}

function writeByte(bytes: Buffer, at: number, byte: number): void {
  bytes[at] = HIGH[byte]!;
  bytes[at + 1] = LOW[byte]!;
}

function writeIdentifier(bytes: Buffer, at: number, device: number, salt: number): void {
  const one = mix(device ^ salt);
  const two = mix(device + 0x3c6ef372);
  const three = mix(one + 0x510e527f);
  const four = mix(two ^ three);
  writeByte(bytes, at, one >>> 24);
  writeByte(bytes, at + 2, (one >>> 16) & 0xff);
  writeByte(bytes, at + 4, (one >>> 8) & 0xff);
  writeByte(bytes, at + 6, one & 0xff);
  bytes[at + 8] = DASH;
  writeByte(bytes, at + 9, two >>> 24);
  writeByte(bytes, at + 11, (two >>> 16) & 0xff);
  bytes[at + 13] = DASH;
  writeByte(bytes, at + 14, (two >>> 8) & 0xff);
  writeByte(bytes, at + 16, two & 0xff);
  bytes[at + 18] = DASH;
  writeByte(bytes, at + 19, three >>> 24);
  writeByte(bytes, at + 21, (three >>> 16) & 0xff);
  bytes[at + 23] = DASH;
  writeByte(bytes, at + 24, (three >>> 8) & 0xff);
  writeByte(bytes, at + 26, three & 0xff);
  writeByte(bytes, at + 28, four >>> 24);
  writeByte(bytes, at + 30, (four >>> 16) & 0xff);
  writeByte(bytes, at + 32, (four >>> 8) & 0xff);
  writeByte(bytes, at + 34, four & 0xff);
}

/** Rows of each of `files` files, as even as it goes. */
export function spread(rows: number, files: number): number[] {
  return Array.from(
    { length: files },
    (_, file) => Math.floor((rows * (file + 1)) / files) - Math.floor((rows * file) / files),
  );
}
