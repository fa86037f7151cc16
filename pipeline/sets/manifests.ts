/** Manifest documents: read in groups, and replaced in groups by a compare-and-set on each version. */
import {
  type AnyBulkWriteOperation,
  Binary,
  type Db,
  type Document,
  type Filter,
  Long,
  MongoBulkWriteError,
} from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { setPoint } from './fault-points.ts';
import { manifestsIn, type SearchedManifest, searchedFields } from './manifest-reply.ts';
import { isText, openCursorIn } from './page-reply.ts';
import { type PlacementReader, requireSamePlacement } from './placement.ts';
import { wholeSlot } from './regions.ts';

/** Version 0: no document yet. */
export type Manifest = ManifestDocument;
export type Manifests = ReturnType<typeof createManifests>;
/** The part of a manifest that locates devices. */
export type ManifestRegions = Pick<Manifest, '_id' | 'space' | 'regions' | 'erasing' | 'placement'>;

/** Outcome of a compare-and-set. One that may have landed must not be undone, so `unknown` is not `lost`. */
export type Outcome = 'landed' | 'lost' | 'unknown';

/** The number of updates that matched their version, and the inserts that found a document. */
interface Written {
  matched: number;
  refused: Set<number>;
}

const DUPLICATE_KEY = 11_000;
/** Per reply: they are searched in one turn of the event loop. */
const SEARCHED_AT_ONCE = 1_000;

export const manifestId = (space: string, slot: number) => `${space}#${slot}`;
export const spaceOf = (manifest: string) => manifest.slice(0, manifest.lastIndexOf('#'));

export function createManifests(db: Db, placementOf: PlacementReader) {
  // Majority reads from the primary: a device that only seems to be stored, because a write may be rolled back or a deletion has not
  // arrived, would be lost for good.
  const collection = db.collection<ManifestDocument>(collections.manifests, {
    readConcern: 'majority',
    readPreference: 'primary',
  });

  const read = groupCommit(async (wanted: { space: string; slot: number }[]): Promise<Manifest[]> => {
    const { id: placement } = await placementOf();
    const ids = wanted.map(({ space, slot }) => manifestId(space, slot));
    const found = new Map<string, Manifest>();
    const cursor = collection.find({ _id: { $in: [...new Set(ids)] } }, { batchSize: ids.length + 1 });
    for await (const manifest of cursor) {
      requireSamePlacement(db, placement, manifest.placement);
      found.set(manifest._id, manifest);
    }
    return wanted.map(({ space, slot }, i) => found.get(ids[i]!) ?? absent(space, slot, placement));
  });

  /** Manifests that exist, in any order. */
  async function regionsOf(wanted: string[], slot: number): Promise<ManifestRegions[]> {
    const { id: placement } = await placementOf();
    const ids = wanted.map((space) => manifestId(space, slot));
    const fields = {
      projection: { space: 1, regions: 1, erasing: 1, placement: 1 },
      batchSize: ids.length + 1,
    };
    const found = await collection.find({ _id: { $in: ids } }, fields).toArray();
    for (const manifest of found) requireSamePlacement(db, placement, manifest.placement);
    return found;
  }

  /** Replies to a query, not decoded. */
  async function* repliesTo(filter: Filter<ManifestDocument>): AsyncGenerator<Buffer> {
    const session = db.client.startSession();
    const options = { raw: true, readPreference: 'primary', session } as const;
    const some = { batchSize: SEARCHED_AT_ONCE };
    const find = { find: collections.manifests, filter, projection: searchedFields, ...some };
    try {
      for (let command: Document = { ...find, readConcern: { level: 'majority' } }; ; ) {
        const { cursor } = await db.command(command, options);
        yield cursor;
        const open = openCursorIn(cursor);
        if (open === 0n) return;
        command = { getMore: Long.fromBigInt(open), collection: collections.manifests, ...some };
      }
    } finally {
      await session.endSession();
    }
  }

  /** The manifests of a slot that exist, of these spaces or of all, in any order. */
  async function* search(slot: number, spaces?: string[]): AsyncGenerator<SearchedManifest[]> {
    const { id: placement } = await placementOf();
    // The index by slot misses no manifest that is replaced meanwhile: a slot never changes.
    const filter: Filter<ManifestDocument> = spaces
      ? { _id: { $in: spaces.map((space) => manifestId(space, slot)) } }
      : { slot };
    for await (const reply of repliesTo(filter)) {
      const found = [...manifestsIn(reply)];
      for (const { placement: from, placementEnd } of found)
        if (!isText(reply, from, placementEnd, placement))
          requireSamePlacement(db, placement, reply.toString('latin1', from, placementEnd));
      yield found;
    }
  }

  async function bulkWrite(operations: AnyBulkWriteOperation<ManifestDocument>[]): Promise<Written> {
    try {
      const { matchedCount } = await collection.bulkWrite(operations, { ordered: false });
      return { matched: matchedCount, refused: new Set<number>() };
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
      const onlyDuplicates = errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY);
      // Without majority acknowledgement the write may be rolled back: the outcome is unknown.
      if (!onlyDuplicates || error.result.getWriteConcernError()) throw error;
      return { matched: error.result.matchedCount, refused: new Set(errors.map(({ index }) => index)) };
    }
  }

  async function outcomesOf(next: Manifest[], { matched, refused }: Written): Promise<Outcome[]> {
    const updates = next.filter(({ version }) => version > 0).length;
    const ofInsert = (i: number): Outcome => (refused.has(i) ? 'lost' : 'landed');
    if (matched === updates) return next.map((_, i) => ofInsert(i));
    if (matched === 0) return next.map(({ version }, i) => (version === 0 ? ofInsert(i) : 'lost'));
    // The server reports how many updates matched, not which. Rare: read the documents again.
    const stored = await Promise.all(next.map(read));
    return next.map((manifest, i) =>
      manifest.version === 0 ? ofInsert(i) : outcomeOf(stored[i]!, manifest),
    );
  }

  return {
    collection,
    read,
    regionsOf,
    search,

    /** Compare-and-set: replaces each manifest by its next version if it has not changed since it was read. */
    replace: groupCommit(async (next: Manifest[]): Promise<Outcome[]> => {
      const written = await bulkWrite(next.map(toWrite));
      setPoint('sink:before-outcome');
      const outcomes = await outcomesOf(next, written);
      setPoint('sink:after-outcome');
      return outcomes;
    }),
  };
}

const absent = (space: string, slot: number, placement: string): Manifest => ({
  _id: manifestId(space, slot),
  space,
  slot,
  version: 0,
  placement,
  devices: 0,
  addresses: new Binary(new Uint8Array(0)),
  merged: [],
  endedBefore: 0,
  changes: [],
  regions: [wholeSlot],
  replaced: [],
});

function toWrite({ _id, version, ...rest }: Manifest): AnyBulkWriteOperation<ManifestDocument> {
  const document = { ...rest, version: version + 1 };
  if (version === 0) return { insertOne: { document: { _id, ...document } } };
  return { replaceOne: { filter: { _id, version }, replacement: document } };
}

/** Derives the outcome from what is stored now. If there is a later version, it is unknown whether ours preceded it. */
function outcomeOf(stored: Manifest, wanted: Manifest): Outcome {
  if (isSuccessor(stored, wanted)) return 'landed';
  return stored.version > wanted.version + 1 ? 'unknown' : 'lost';
}

/** Whether our version is stored, which tokens identify. */
function isSuccessor(stored: Manifest, wanted: Manifest): boolean {
  const tokensOf = ({ regions }: Manifest) =>
    regions.flatMap(({ levels }) => levels.map(({ token }) => token)).join();
  const jobsOf = ({ merged }: Manifest) => merged.map(({ job }) => job).join();
  return (
    stored.version === wanted.version + 1 &&
    jobsOf(stored) === jobsOf(wanted) &&
    tokensOf(stored) === tokensOf(wanted)
  );
}
