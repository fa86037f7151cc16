/**
 * Placement: slots and addresses come from a hash keyed with a secret of the installation. The first process that needs the key creates it.
 * It is stored with the devices, so that a backup has both, and never changes. Every manifest records the key that its devices were placed
 * by: with another key look-ups would miss, so nothing is read or written then.
 */
import { createHash } from 'node:crypto';
import { Binary, type Db } from 'mongodb';
import { collections, type PlacementDocument } from '../../schemas/documents.ts';
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { createDeviceHash, type DeviceHash, newKey } from '../formats/device-hash.ts';
import { StartRefused } from '../runtime/errors.ts';

export interface Placement {
  /** Identifies the key. */
  id: string;
  hash: DeviceHash;
}

export type PlacementReader = () => Promise<Placement>;

export function placementBy(key: Uint8Array): Placement {
  const id = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return { id, hash: createDeviceHash(key) };
}

/** Reads the key once. A failed read is repeated by the next call. */
export function createPlacementReader(db: Db): PlacementReader {
  let reading: Promise<Placement> | undefined;
  return () => {
    reading ??= readPlacement(db).catch((error) => {
      reading = undefined;
      throw error;
    });
    return reading;
  };
}

const certain = { readConcern: 'majority', readPreference: 'primary' } as const;
const keysIn = (db: Db) => db.collection<PlacementDocument>(collections.placement, certain);

/** Undefined before the first start. Throws if devices are stored without their key or with another. */
export async function storedPlacement(db: Db): Promise<Placement | undefined> {
  const manifests = db.collection<ManifestDocument>(collections.manifests, certain);
  const first = { sort: { _id: 1 } } as const;
  // Read before the key, because the key is stored before any device.
  const manifest = await manifests.findOne({}, { ...first, projection: { placement: 1 } });
  const spill = await db
    .collection(collections.spills, certain)
    .findOne({}, { ...first, projection: { _id: 1 } });
  const stored = await keysIn(db).findOne({ _id: 'key' });
  if (!stored && (manifest || spill))
    throw new StartRefused(
      `HEADRACE_MONGO_DATABASE: ${db.databaseName} holds devices, but not the key that they were placed by (collection ` +
        `${collections.placement}): restore all collections from one backup`,
    );
  if (!stored) return undefined;
  const placement = placementBy(stored.key.value());
  if (manifest) requireSamePlacement(db, placement.id, manifest.placement);
  return placement;
}

const DUPLICATE_KEY = 11_000;

async function readPlacement(db: Db): Promise<Placement> {
  for (;;) {
    const stored = await storedPlacement(db);
    if (stored) return stored;
    const document = { key: new Binary(newKey()), createdAt: new Date() };
    await keysIn(db)
      .updateOne({ _id: 'key' }, { $setOnInsert: document }, { upsert: true })
      .catch((error: { code?: unknown }) => {
        // Another process was faster. Its key is visible once a majority has it.
        if (error.code !== DUPLICATE_KEY) throw error;
      });
  }
}

export function requireSamePlacement(db: Db, own: string, stored: string): void {
  if (own === stored) return;
  throw new StartRefused(
    `HEADRACE_MONGO_DATABASE: ${db.databaseName} holds devices that were placed by the key ${stored}, but the collection ` +
      `${collections.placement} has the key ${own}: restore all collections from one backup`,
  );
}
