/** Finds wanted devices in the pages of a region: a merge join, or a linear search for a few devices. */
import type { DeviceHash } from '../formats/device-hash.ts';
import { addressOf, WORDS } from '../formats/identifier.ts';
import { compareWords, type Devices, positionOf } from './devices.ts';
import { createKeyReader } from './page-format.ts';
import type { StoredPage } from './page-reply.ts';
import type { LoadedLevel, LoadedRegion } from './read-regions.ts';
import { pageSize } from './regions.ts';

interface Hits {
  /** Wanted device `n` is stored at this place of a page. Called once per level that has it. */
  onDevice(n: number, page: StoredPage, place: number): void;
  /** Called for each of the device's keys in that level. */
  onKey?: ((key: number) => void) | undefined;
}

/** For fewer wanted devices, hashing the devices of a page does not pay. */
const FEW = 4;

export function joinRegion({ wanted, levels }: LoadedRegion, hits: Hits, hash: DeviceHash): void {
  for (const level of levels) joinLevel(wanted!, level, hits, hash);
}

export function joinLevel(
  wanted: Devices,
  { level, pages }: LoadedLevel,
  hits: Hits,
  hash: DeviceHash,
): void {
  if (level.numbered) {
    for (const page of pages) joinPage(wanted, 0, wanted.count, page, hits, hash);
    return;
  }
  const size = pageSize(level);
  let from = 0;
  for (const page of pages) {
    from = positionOf(wanted, page.start, from);
    const to = positionOf(wanted, page.start + size, from);
    if (to > from) joinPage(wanted, from, to, page, hits, hash);
    from = to;
  }
}

function joinPage(
  wanted: Devices,
  from: number,
  to: number,
  page: StoredPage,
  { onDevice, onKey }: Hits,
  hash: DeviceHash,
): void {
  const end = copyWords(page);
  const reader = onKey && createKeyReader(page.reply, page.keys, page.keysEnd);
  let passed = 0;
  const onHit = (n: number, place: number) => {
    onDevice(n, page, place);
    if (!reader) return;
    reader.skip(place - passed);
    reader.next(onKey);
    passed = place + 1;
  };
  if (to - from <= FEW) search(wanted, from, to, end, onHit);
  else mergeJoin(wanted, from, to, end, onHit, hash);
}

/** Aligned copy of a page's identifiers. Reused: allocating an array per page would cost more than the search. */
let words = new Uint32Array(1 << 12);
let bytes = new Uint8Array(words.buffer);

/** Returns the number of words. */
function copyWords({ reply, devices, devicesEnd }: StoredPage): number {
  const length = devicesEnd - devices;
  if (length > bytes.length) {
    words = new Uint32Array(length / 2);
    bytes = new Uint8Array(words.buffer);
  }
  reply.copy(bytes, 0, devices, devicesEnd);
  return length / 4;
}

type OnHit = (n: number, place: number) => void;

function search(wanted: Devices, from: number, to: number, end: number, onHit: OnHit): void {
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
  end: number,
  onHit: OnHit,
  hash: DeviceHash,
): void {
  let n = from;
  for (let at = 0; at < end && n < to; at += WORDS) {
    const address = addressOf(hash(words, at));
    while (n < to && wanted.addresses[n]! < address) n++;
    while (n < to && wanted.addresses[n] === address && compareWords(wanted.words, n * WORDS, words, at) < 0)
      n++;
    if (n < to && wanted.addresses[n] === address && compareWords(wanted.words, n * WORDS, words, at) === 0)
      onHit(n++, at / WORDS);
  }
}
