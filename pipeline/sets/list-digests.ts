/**
 * Suppresses devices by digest only. Such entries are in a separate list, in the slot of the digest. Entries added with a device are in the
 * device's slot, so restoring one by its digest searches all slots.
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

/** Stands for a partner in the manifests of these entries: its edits are ordered by number. */
const EDITOR = '*drop';
/** Above all job numbers: requests edit the same slots, and record there below which number all jobs have ended. */
const FIRST_EDIT = 2 ** 40;
/** One slot is prepared while MongoDB writes another. */
const SLOTS_AT_ONCE = 2;

export interface DigestEdit {
  /** Greater than that of every earlier edit, so that an edit is applied once. */
  number: number;
  /** Stored with each entry. */
  key: number;
}

function targetOf(space: string, slot: number, { number }: Pick<DigestEdit, 'number'>): SlotTarget {
  const job = FIRST_EDIT + number;
  return {
    space,
    slot,
    jobs: [{ job, partner: EDITOR }],
    endedBefore: 0,
    // Keep the changes of requests that are not acknowledged yet.
    isOpen: (other) => other < FIRST_EDIT || other === job,
  };
}

function bySlot({ hash }: Pick<EditDeps, 'hash'>, slots: number, digests: Uint8Array, key: number) {
  const short = cutDigests(digests);
  const words = wordsOf(short);
  const pairs = new Map<number, Pairs>();
  for (let n = 0; n < short.length / IDENTIFIER_BYTES; n++) {
    const slot = slotOfHash(hash(words, n * WORDS), slots);
    const own = pairs.get(slot) ?? new Pairs();
    pairs.set(slot, own);
    own.add(short, n * IDENTIFIER_BYTES, 1, key, 0);
  }
  return new Map([...pairs].map(([slot, own]): [number, Devices] => [slot, sortPairs(own, hash).devices]));
}

/** `digests`: 32 bytes each, concatenated. */
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

/** Removes entries. Those added with a device are removed only if one of these requests added them. */
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
