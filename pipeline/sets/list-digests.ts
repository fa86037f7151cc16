/**
 * Suppresses devices that only their digests are known of. Such entries are in slots of their own, by the digest; those that came with a
 * device are in its slot, and to restore one by its digest all slots are looked into.
 */
import { spaces } from '../../schemas/documents.ts';
import { IDENTIFIER_BYTES, slotOfHash, WORDS } from '../formats/identifier.ts';
import { inParallel } from '../runtime/in-parallel.ts';
import type { Devices } from './devices.ts';
import type { EditDeps, SlotTarget } from './edit-slot.ts';
import { eraseDevices } from './erase-devices.ts';
import { mergeDevices } from './merge-devices.ts';
import { wordsOf } from './page-format.ts';
import { Pairs, sortPairs } from './sort-pairs.ts';
import { cutDigests } from './suppressions.ts';

/** Who changes these entries: edits of one are in the order of their numbers. */
const EDITOR = '*drop';
/** Above the numbers of all jobs: requests change the same slots, and all jobs below the first unfinished one count as merged. */
const FIRST_EDIT = 2 ** 40;
/** One is prepared while MongoDB writes another. */
const SLOTS_AT_ONCE = 2;

export interface DigestEdit {
  /** Larger than that of every edit before: an edit happens once. */
  number: number;
  /** What is kept beside each entry. */
  key: number;
}

function targetOf(space: string, slot: number, { number }: Pick<DigestEdit, 'number'>): SlotTarget {
  const job = FIRST_EDIT + number;
  return {
    space,
    slot,
    jobs: [{ job, partner: EDITOR }],
    endedBefore: 0,
    // A request may not be acknowledged yet.
    isOpen: (one) => one < FIRST_EDIT || one === job,
  };
}

function bySlot({ hash }: Pick<EditDeps, 'hash'>, slots: number, digests: Uint8Array, key: number) {
  const short = cutDigests(digests);
  const words = wordsOf(short);
  const pairs = new Map<number, Pairs>();
  for (let n = 0; n < short.length / IDENTIFIER_BYTES; n++) {
    const slot = slotOfHash(hash(words, n * WORDS), slots);
    const some = pairs.get(slot) ?? new Pairs();
    pairs.set(slot, some);
    some.add(short, n * IDENTIFIER_BYTES, 1, key, 0);
  }
  return new Map([...pairs].map(([slot, some]): [number, Devices] => [slot, sortPairs(some, hash).devices]));
}

/** Digests of 32 bytes, one after the other. */
export async function listDigests(
  deps: EditDeps,
  slots: number,
  digests: Uint8Array,
  edit: DigestEdit,
): Promise<void> {
  await inParallel([...bySlot(deps, slots, digests, edit.key)], SLOTS_AT_ONCE, async ([slot, entries]) => {
    await mergeDevices(deps, targetOf(spaces.digests, slot, edit), async function* () {
      yield entries;
    });
  });
}

/** Of entries that came with their devices, only what these requests have brought. */
export async function unlistDigests(
  deps: EditDeps,
  slots: number,
  digests: Uint8Array,
  { number, requests }: { number: number; requests: ReadonlySet<number> },
): Promise<void> {
  for (const [slot, entries] of bySlot(deps, slots, digests, 0))
    await eraseDevices(deps, targetOf(spaces.digests, slot, { number }), entries);
  if (requests.size === 0) return;
  const pairs = new Pairs();
  const short = cutDigests(digests);
  pairs.add(short, 0, short.length / IDENTIFIER_BYTES, 0, 0);
  const all = sortPairs(pairs, deps.hash).devices;
  for (let slot = 0; slot < slots; slot++)
    await eraseDevices(deps, { ...targetOf(spaces.suppressed(), slot, { number }), keys: requests }, all);
}
