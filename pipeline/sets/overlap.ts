/**
 * What a set shares with every attribute, in one slot: a merge join. Only the set's own devices are held; the attributes'
 * chunks pass through, many of them to a round trip.
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

interface Probe {
  set: string;
  common: number;
  /** A chunk was gone: the attribute was rewritten under us and is probed again. */
  raced: boolean;
}

export interface OverlapDeps {
  db: Db;
  manifests: Manifests;
  chunks: Chunks;
}

const attributesOf = (slot: number) => ({ slot, set: between('attribute:'), count: { $gt: 0 } });

/** Without any attribute in the slot there is no need to read the set. */
export const hasAttributes = async (db: Db, slot: number): Promise<boolean> =>
  (await manifestCollection(db).findOne(attributesOf(slot), { projection: { _id: 1 } })) !== null;

/** The overlap of a packed set with the attributes in a slot. */
export async function overlapWithAttributes(
  { db, manifests, chunks }: OverlapDeps,
  devices: Uint8Array,
  slot: number,
): Promise<Overlap> {
  const count = devices.byteLength / DEVICE_BYTES;
  const bits = new Uint8Array(count);
  const probes: Probe[] = [];
  if (count > 0) {
    await probeAll(attributes());
    // An attribute is only counted whole; marks of a first try may stay, since those devices were in it during this call.
    for (const probe of probes.filter(({ raced }) => raced)) await settle(() => probeAgain(probe));
  }
  const byAttribute = probes
    .filter(({ common }) => common > 0)
    .map(({ set, common }) => ({ set, count: common }));
  return { devices: count, matched: bits.reduce((sum, bit) => sum + bit, 0), byAttribute };

  async function* attributes(): AsyncGenerator<[Manifest, Probe]> {
    const cursor = manifestCollection(db).find(attributesOf(slot));
    for await (const document of cursor) {
      const probe = { set: document.set, common: 0, raced: false };
      probes.push(probe);
      yield [fromDocument(document), probe];
    }
  }

  async function probeAll(
    targets: AsyncIterable<[Manifest, Probe]> | Iterable<[Manifest, Probe]>,
  ): Promise<void> {
    for await (const group of chunks.load(requests(targets), false)) {
      for (const { devices: chunk, for: probe } of group) {
        if (chunk) probe.common += markMembers(devices, chunk, bits);
        else probe.raced = true;
      }
    }
  }

  async function* requests(
    targets: AsyncIterable<[Manifest, Probe]> | Iterable<[Manifest, Probe]>,
  ): AsyncGenerator<ChunkRequest<Probe>> {
    for await (const [manifest, probe] of targets) {
      probe.common += markMembers(devices, manifest.inline, bits);
      for (const entry of manifest.chunks) {
        if (overlapsRange(devices, bytesOf(entry.first), bytesOf(entry.last))) yield { entry, for: probe };
      }
    }
  }

  async function probeAgain(probe: Probe): Promise<true | undefined> {
    const [manifest] = await manifests.read([{ set: probe.set, slot }]);
    Object.assign(probe, { common: 0, raced: false });
    await probeAll([[manifest!, probe]]);
    return probe.raced ? undefined : true;
  }
}
