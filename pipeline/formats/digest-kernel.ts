/**
 * SHA-256 of the 32 hex digits of identifiers, four at a time. The digits fit into one SHA-256 block, so the digests of four identifiers
 * take 64 rounds on vectors of four words (WebAssembly SIMD; one identifier per lane): about twenty times as fast as node:crypto per
 * identifier.
 *
 * The module is assembled here at load time: the functions below return the bytes of an instruction and its operands. Words of the block
 * that are the same for every identifier (padding and length) are constants and are folded.
 */
import { IDENTIFIER_BYTES } from './identifier.ts';

/** Code bytes that leave one value on the stack. */
type Code = number[];
/** A word of four lanes: in a local, or a constant in every lane. */
type Word = { local: number } | { value: number };

/** Number of identifiers in the module's memory, and the offset of their digests. */
export const KERNEL_IDENTIFIERS = 1024;
export const DIGEST_BYTES = 32;
const DIGESTS_AT = KERNEL_IDENTIFIERS * IDENTIFIER_BYTES;
export const LANES = 4;

/** The first 32 bits of the fractional parts of the roots of the first primes: cube roots for the rounds, square roots for the start. */
const primes = (count: number): number[] => {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
};
/** Exact: floor(2^32 · root) in integers, because a double has too few bits. */
function fractionOfRoot(prime: number, degree: 2n | 3n): number {
  const radicand = BigInt(prime) << (32n * degree);
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= radicand) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn) | 0;
}
const ROUND_CONSTANTS = primes(64).map((prime) => fractionOfRoot(prime, 3n));
const START = primes(8).map((prime) => fractionOfRoot(prime, 2n));

// ---- WebAssembly ----
const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
function signed(value: number): number[] {
  const rest = value >> 7;
  const last = (rest === 0 && (value & 0x40) === 0) || (rest === -1 && (value & 0x40) !== 0);
  return last ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(rest)];
}
const get = (local: number): Code => [0x20, ...unsigned(local)];
const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
const number = (value: number): Code => [0x41, ...signed(value)];
const addNumbers = (a: Code, b: Code): Code => [...a, ...b, 0x6a];

const simd = (operation: number): number[] => [0xfd, ...unsigned(operation)];
const bytesOf = (value: number) =>
  [value, value >>> 8, value >>> 16, value >>> 24].map((byte) => byte & 0xff);
const constant = (bytes: number[]): Code => [...simd(0x0c), ...bytes];
const everyLane = (value: number): Code =>
  constant(Array.from({ length: LANES }, () => bytesOf(value)).flat());
const load = (address: Code, offset: number): Code => [...address, ...simd(0x00), 0, ...unsigned(offset)];
const store = (address: Code, offset: number, value: Code): Code => [
  ...address,
  ...value,
  ...simd(0x0b),
  0,
  ...unsigned(offset),
];
const shuffle = (a: Code, b: Code, lanes: number[]): Code => [...a, ...b, ...simd(0x0d), ...lanes];
const swizzle = (table: Code, places: Code): Code => [...table, ...places, ...simd(0x0e)];
const and = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x4e)];
const or = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x50)];
const xor = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x51)];
const shiftBytesRight = (a: Code, bits: number): Code => [...a, ...number(bits), ...simd(0x6d)];
const shiftLeft = (a: Code, bits: number): Code => [...a, ...number(bits), ...simd(0xab)];
const shiftRight = (a: Code, bits: number): Code => [...a, ...number(bits), ...simd(0xad)];
const add = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xae)];
const rotate = (a: Code, bits: number): Code => or(shiftRight(a, bits), shiftLeft(a, 32 - bits));

// ---- SHA-256 ----
const code = (word: Word): Code => ('local' in word ? get(word.local) : everyLane(word.value));
const rotated = (value: number, bits: number) => (value >>> bits) | (value << (32 - bits));

function smallSigma(word: Word, a: number, b: number, shift: number): Code | number {
  if ('value' in word) return rotated(word.value, a) ^ rotated(word.value, b) ^ (word.value >>> shift);
  const x = code(word);
  return xor(xor(rotate(x, a), rotate(x, b)), shiftRight(x, shift));
}
const largeSigma = (x: Code, a: number, b: number, c: number): Code =>
  xor(xor(rotate(x, a), rotate(x, b)), rotate(x, c));

/** Constants are folded. */
function sum(...terms: (Code | number)[]): Code | number {
  const value = terms.reduce<number>(
    (total, term) => (typeof term === 'number' ? (total + term) | 0 : total),
    0,
  );
  const [first, ...rest] = terms.filter((term) => typeof term !== 'number');
  if (first === undefined) return value;
  const added = rest.reduce((total, term) => add(total, term), first);
  return value === 0 ? added : add(added, everyLane(value));
}
const term = (word: Word): Code | number => ('value' in word ? word.value : code(word));

// Locals: the argument, two addresses, then vectors.
const GROUPS = 0;
const FROM = 1;
const TO = 2;
const FIRST_VECTOR = 3;
const STATE = FIRST_VECTOR;
const SCHEDULE = STATE + 8;
const SCRATCH = SCHEDULE + 16;
const VECTORS = 8 + 16 + 8;

/** The digits of four identifiers into the first eight words of the schedule. */
function readDigits(): Code {
  const digits = constant([...'0123456789abcdef'].map((digit) => digit.charCodeAt(0)));
  const out: Code = [];
  // Words are big-endian: the digits of two bytes, last first.
  const half = (from: number) =>
    Array.from({ length: 4 }, (_, word) => from + word * 2).flatMap((byte) => [
      byte + 17,
      byte + 1,
      byte + 16,
      byte,
    ]);
  for (let lane = 0; lane < LANES; lane++) {
    const bytes = load(get(FROM), lane * IDENTIFIER_BYTES);
    const high = swizzle(digits, shiftBytesRight(bytes, 4));
    const low = swizzle(digits, and(bytes, constant(Array(16).fill(0x0f))));
    out.push(...set(STATE, high), ...set(STATE + 1, low));
    out.push(...set(SCRATCH + lane, shuffle(get(STATE), get(STATE + 1), half(0))));
    out.push(...set(SCRATCH + LANES + lane, shuffle(get(STATE), get(STATE + 1), half(8))));
  }
  out.push(...transpose(SCRATCH, SCHEDULE, STATE), ...transpose(SCRATCH + LANES, SCHEDULE + LANES, STATE));
  return out;
}

/** Transposes four vectors of one identifier each into four of one word each, or back, using four free vectors. */
function transpose(from: number, to: number, free: number): Code {
  const pick = (words: number[]) => words.flatMap((word) => [0, 1, 2, 3].map((byte) => word * 4 + byte));
  const [a, b, c, d] = [0, 1, 2, 3].map((n) => get(from + n)) as [Code, Code, Code, Code];
  const [low, high, low2, high2] = [0, 1, 2, 3].map((n) => free + n) as [number, number, number, number];
  return [
    ...set(low, shuffle(a, b, pick([0, 4, 1, 5]))),
    ...set(high, shuffle(a, b, pick([2, 6, 3, 7]))),
    ...set(low2, shuffle(c, d, pick([0, 4, 1, 5]))),
    ...set(high2, shuffle(c, d, pick([2, 6, 3, 7]))),
    ...set(to, shuffle(get(low), get(low2), pick([0, 1, 4, 5]))),
    ...set(to + 1, shuffle(get(low), get(low2), pick([2, 3, 6, 7]))),
    ...set(to + 2, shuffle(get(high), get(high2), pick([0, 1, 4, 5]))),
    ...set(to + 3, shuffle(get(high), get(high2), pick([2, 3, 6, 7]))),
  ];
}

function rounds(): Code {
  const out: Code = [];
  const words: Word[] = Array.from({ length: 16 }, (_, n) =>
    n < 8 ? { local: SCHEDULE + n } : { value: n === 8 ? 0x80000000 | 0 : n === 15 ? DIGEST_BYTES * 8 : 0 },
  );
  let state: number[] = START.map((value, n) => {
    out.push(...set(STATE + n, everyLane(value)));
    return STATE + n;
  });
  for (let round = 0; round < 64; round++) {
    const at = round % 16;
    if (round >= 16) {
      const next = sum(
        term(words[at]!),
        smallSigma(words[(at + 1) % 16]!, 7, 18, 3),
        term(words[(at + 9) % 16]!),
        smallSigma(words[(at + 14) % 16]!, 17, 19, 10),
      );
      if (typeof next === 'number') words[at] = { value: next };
      else {
        out.push(...set(SCHEDULE + at, next));
        words[at] = { local: SCHEDULE + at };
      }
    }
    const [a, b, c, d, e, f, g, h] = state as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const choice = xor(and(xor(get(f), get(g)), get(e)), get(g));
    const first = sum(
      get(h),
      largeSigma(get(e), 6, 11, 25),
      choice,
      term(words[at]!),
      ROUND_CONSTANTS[round]!,
    );
    const majority = xor(and(xor(get(a), get(b)), xor(get(b), get(c))), get(b));
    out.push(...set(SCRATCH, first as Code));
    out.push(...set(d, add(get(d), get(SCRATCH))));
    out.push(...set(h, add(get(SCRATCH), add(largeSigma(get(a), 2, 13, 22), majority))));
    state = [h, a, b, c, d, e, f, g];
  }
  // After 64 rounds every word is back in its local.
  for (const [n, value] of START.entries())
    out.push(...set(STATE + n, add(get(STATE + n), everyLane(value))));
  return out;
}

/** Swaps the bytes of a word, because a digest is big-endian. */
const BIG_ENDIAN = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
function writeDigests(): Code {
  return [0, LANES].flatMap((half) => [
    ...transpose(STATE + half, SCRATCH + half, SCHEDULE),
    ...[0, 1, 2, 3].flatMap((lane) =>
      store(
        get(TO),
        lane * DIGEST_BYTES + half * 4,
        swizzle(get(SCRATCH + half + lane), constant(BIG_ENDIAN)),
      ),
    ),
  ]);
}

function assemble(): Uint8Array<ArrayBuffer> {
  const body: Code = [
    ...set(TO, number(DIGESTS_AT)),
    ...[0x03, 0x40], // loop
    ...readDigits(),
    ...rounds(),
    ...writeDigests(),
    ...set(FROM, addNumbers(get(FROM), number(LANES * IDENTIFIER_BYTES))),
    ...set(TO, addNumbers(get(TO), number(LANES * DIGEST_BYTES))),
    ...set(GROUPS, addNumbers(get(GROUPS), number(-1))),
    ...[...get(GROUPS), 0x0d, 0], // again unless 0
    ...[0x0b, 0x0b], // end of the loop, end of the function
  ];
  const I32 = 0x7f;
  const V128 = 0x7b;
  const locals = [2, ...[...unsigned(2), I32], ...[...unsigned(VECTORS), V128]];
  const section = (id: number, content: number[]) => [id, ...unsigned(content.length), ...content];
  const name = (text: string) => [text.length, ...Buffer.from(text)];
  const pages = Math.ceil((KERNEL_IDENTIFIERS * (IDENTIFIER_BYTES + DIGEST_BYTES)) / 65_536);
  const func = [...locals, ...body];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, I32, 0]), // one type: a number to nothing
    ...section(3, [1, 0]),
    ...section(5, [1, 0, ...unsigned(pages)]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('digest'), 0, 0]),
    ...section(10, [1, ...unsigned(func.length), ...func]),
  ]);
}

interface Exports {
  memory: { buffer: ArrayBuffer };
  digest(groups: number): void;
}
/** The part used here: Node's types lack WebAssembly. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: Exports };
};

export function createDigestKernel() {
  const { memory, digest } = new WebAssembly.Instance(new WebAssembly.Module(assemble())).exports;
  return {
    identifiers: new Uint8Array(memory.buffer, 0, DIGESTS_AT),
    digests: new Uint32Array(memory.buffer, DIGESTS_AT, (KERNEL_IDENTIFIERS * DIGEST_BYTES) / 4),
    digestGroups: digest,
  };
}
