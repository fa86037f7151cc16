/**
 * What a set shares with other sets, in one slot: a merge join. Only the set's own devices are held; the others' chunks pass
 * through, many of them to a round trip.
 */
import type { Db } from 'mongodb';
import { bytesOf } from './binary.ts';
import type { ChunkRequest, Chunks } from './chunks.ts';
import { between } from './drop-sets.ts';
import { fromDocument, type Manifest, type Manifests, manifestCollection } from './manifests.ts';
import { DEVICE_BYTES } from './packed-order.ts';
import { markMembers, overlapsRange } from './packed-search.ts';
import { settle } from './races.ts';

export interface Overlap {
  devices: number;
  /** Devices that at least one attribute holds. */
  matched: number;
  /** Attributes with at least one common device. */
  byAttribute: { set: string; count: number }[];
}

/** Another set that holds devices in the slot: how many, and how many of them are common. */
export interface Shared {
  set: string;
  devices: number;
  common: number;
}

interface Probe extends Shared {
  /** A chunk was gone: the set was rewritten under us and is probed again. */
  raced: boolean;
}

export interface OverlapDeps {
  db: Db;
  manifests: Manifests;
  chunks: Chunks;
}

export interface Probing {
  /** A packed set, and a byte for each device of it, which becomes 1 if one of the other sets holds the device. */
  devices: Uint8Array;
  bits: Uint8Array;
  slot: number;
  /** Gets all devices of the other sets, in parts. Without it, chunks that have no device in common are not even read. */
  onDevices?: ((devices: Uint8Array) => void) | undefined;
}

type Targets = AsyncIterable<Manifest> | Iterable<Manifest>;

const attributesIn = (slot: number) => ({ slot, set: between('attribute:'), count: { $gt: 0 } });

/** Without any attribute in the slot there is no need to read the set. */
export const hasAttributes = async (db: Db, slot: number): Promise<boolean> =>
  (await manifestCollection(db).findOne(attributesIn(slot), { projection: { _id: 1 } })) !== null;

/** Every attribute that holds devices in the slot. */
export async function* readAttributes(db: Db, slot: number): AsyncGenerator<Manifest> {
  for await (const document of manifestCollection(db).find(attributesIn(slot))) yield fromDocument(document);
}

export const countMarked = (bits: Uint8Array): number => bits.reduce((sum, bit) => sum + bit, 0);

/** The overlap of a packed set with the attributes in a slot. */
export async function overlapWithAttributes(
  deps: OverlapDeps,
  devices: Uint8Array,
  slot: number,
): Promise<Overlap> {
  const count = devices.byteLength / DEVICE_BYTES;
  if (count === 0) return { devices: 0, matched: 0, byAttribute: [] };
  const bits = new Uint8Array(count);
  const shared = await probeSets(deps, readAttributes(deps.db, slot), { devices, bits, slot });
  const byAttribute = shared
    .filter(({ common }) => common > 0)
    .map(({ set, common }) => ({ set, count: common }));
  return { devices: count, matched: countMarked(bits), byAttribute };
}

/** Holds a packed set against each of the targets. */
export async function probeSets(
  { manifests, chunks }: Pick<OverlapDeps, 'manifests' | 'chunks'>,
  targets: Targets,
  { devices, bits, slot, onDevices }: Probing,
): Promise<Shared[]> {
  const probes: Probe[] = [];
  await probeAll(begin(targets));
  // A set is only counted whole; marks of a first try may stay, since those devices were in it during this call.
  for (const probe of probes.filter(({ raced }) => raced)) await settle(() => probeAgain(probe));
  return probes.map(({ set, devices: held, common }) => ({ set, devices: held, common }));

  async function* begin(sets: Targets): AsyncGenerator<[Manifest, Probe]> {
    for await (const manifest of sets) {
      const probe = { set: manifest.set, devices: manifest.count, common: 0, raced: false };
      probes.push(probe);
      yield [manifest, probe];
    }
  }

  async function probeAll(
    begun: AsyncIterable<[Manifest, Probe]> | Iterable<[Manifest, Probe]>,
  ): Promise<void> {
    for await (const group of chunks.load(requests(begun), false)) {
      for (const { devices: chunk, for: probe } of group) {
        if (chunk) see(probe, chunk);
        else probe.raced = true;
      }
    }
  }

  async function* requests(
    begun: AsyncIterable<[Manifest, Probe]> | Iterable<[Manifest, Probe]>,
  ): AsyncGenerator<ChunkRequest<Probe>> {
    for await (const [manifest, probe] of begun) {
      see(probe, manifest.inline);
      for (const entry of manifest.chunks) {
        if (onDevices || overlapsRange(devices, bytesOf(entry.first), bytesOf(entry.last)))
          yield { entry, for: probe };
      }
    }
  }

  function see(probe: Probe, part: Uint8Array): void {
    probe.common += markMembers(devices, part, bits);
    onDevices?.(part);
  }

  async function probeAgain(probe: Probe): Promise<true | undefined> {
    const [manifest] = await manifests.read([{ set: probe.set, slot }]);
    Object.assign(probe, { devices: manifest!.count, common: 0, raced: false });
    await probeAll([[manifest!, probe]]);
    return probe.raced ? undefined : true;
  }
}
