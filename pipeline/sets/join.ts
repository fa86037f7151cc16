/** Finds wanted devices in the pages of a region: a merge join, or a plain search for a few. */
import type { PageDocument } from '../../schemas/stage-documents.ts';
import { addressOf, hashWords, WORDS } from '../formats/identifier.ts';
import { compareWords, type Devices, positionOf } from './devices.ts';
import { createKeyReader } from './page-format.ts';
import type { LoadedRegion } from './read-regions.ts';
import { pageSize, startOf } from './regions.ts';

export interface Hits {
  /** The wanted device with this number is stored. More than once, if it is in several levels. */
  onDevice(n: number): void;
  /** With each of its keys in that level. */
  onKey?: ((key: number) => void) | undefined;
}

/** For fewer wanted devices it does not pay to hash those of the page. */
const FEW = 4;

export function joinRegion({ wanted, levels }: LoadedRegion, hits: Hits): void {
  const devices = wanted!;
  for (const { level, pages } of levels) {
    const size = pageSize(level);
    let from = 0;
    for (const page of pages) {
      const start = startOf(page);
      from = positionOf(devices, start, from);
      const to = positionOf(devices, start + size, from);
      if (to > from) joinPage(devices, from, to, page, hits);
      from = to;
    }
  }
}

function joinPage(wanted: Devices, from: number, to: number, { d, k }: PageDocument, hits: Hits): void {
  const words = toScratch(d);
  const reader = createKeyReader(k);
  const end = d.length / 4;
  let passed = 0;
  const onHit = (n: number, place: number) => {
    hits.onDevice(n);
    if (!hits.onKey) return;
    reader.skip(place - passed);
    reader.next(hits.onKey);
    passed = place + 1;
  };
  if (to - from <= FEW) search(wanted, from, to, words, end, onHit);
  else mergeJoin(wanted, from, to, words, end, onHit);
}

/** Aligned, and used again for each page: an array for every page would cost more than the search. */
let scratch = new Uint32Array(1 << 12);
let scratchBytes = new Uint8Array(scratch.buffer);

function toScratch(devices: Uint8Array): Uint32Array {
  if (devices.length > scratchBytes.length) {
    scratch = new Uint32Array(devices.length / 2);
    scratchBytes = new Uint8Array(scratch.buffer);
  }
  scratchBytes.set(devices);
  return scratch;
}

type OnHit = (n: number, place: number) => void;

function search(
  wanted: Devices,
  from: number,
  to: number,
  words: Uint32Array,
  end: number,
  onHit: OnHit,
): void {
  for (let n = from; n < to; n++) {
    const first = wanted.words[n * WORDS]!;
    for (let at = 0; at < end; at += WORDS) {
      if (words[at] !== first || compareWords(words, at, wanted.words, n * WORDS) !== 0) continue;
      onHit(n, at / WORDS);
      break;
    }
  }
}

function mergeJoin(
  wanted: Devices,
  from: number,
  to: number,
  words: Uint32Array,
  end: number,
  onHit: OnHit,
): void {
  let n = from;
  for (let at = 0; at < end && n < to; at += WORDS) {
    const address = addressOf(hashWords(words, at));
    while (n < to && wanted.addresses[n]! < address) n++;
    while (n < to && wanted.addresses[n] === address && compareWords(wanted.words, n * WORDS, words, at) < 0)
      n++;
    if (n < to && wanted.addresses[n] === address && compareWords(wanted.words, n * WORDS, words, at) === 0)
      onHit(n++, at / WORDS);
  }
}
