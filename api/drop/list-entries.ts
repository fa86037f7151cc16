/** read → listed: from now on every load suppresses the devices of the batch. Devices of withdrawn requests are unlisted. */
import { DIGEST_BYTES } from '../../pipeline/formats/device-digest.ts';
import { type DropBatchDocument, DropStatus } from '../../schemas/drop-documents.ts';
import { countOf, digestAt, idAt, undecided } from '../stores/drop.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';

type Deps = Pick<SessionDeps, 'store' | 'erasure' | 'progress'>;

/** 500,000 entries, because each change of the list rewrites its manifest. */
const PARTS_AT_ONCE = 25;

const isDigest = (digest: Buffer) => !digest.equals(Buffer.alloc(DIGEST_BYTES));

/** A part's digests, without placeholders. */
function onlyDigests(digests: Buffer): Buffer {
  const whole: Buffer[] = [];
  for (let n = 0; n < digests.length / DIGEST_BYTES; n++)
    if (isDigest(digestAt(digests, n))) whole.push(digestAt(digests, n));
  return whole.length === digests.length / DIGEST_BYTES ? digests : Buffer.concat(whole);
}

export async function listEntries(deps: Deps, batch: DropBatchDocument): Promise<DropBatchDocument> {
  const { store, erasure, progress } = deps;
  const withdrawn = await withdrawEntries(deps, batch);
  for (const [file, { list, entries }] of batch.files.entries()) {
    if (list !== 'MAID') continue;
    let done = 0;
    let held: Buffer[] = [];
    const suppress = async () => {
      const digests = onlyDigests(Buffer.concat(held));
      held = [];
      if (digests.length > 0) await erasure.suppress(digests, batch._id);
      progress('listing', done, entries);
    };
    for await (const part of store.entries(batch._id, file)) {
      held.push(part.digests);
      done += countOf(part);
      if (held.length === PARTS_AT_ONCE) await suppress();
    }
    await suppress();
  }
  await erasure.settle();
  const listed = await store.update(batch._id, { state: 'listed', withdrawn });
  faultPoint('drop:after-list');
  return listed;
}

/** A digest stays listed while another entry has it. Returns how many entries of earlier batches are withdrawn. */
async function withdrawEntries({ store, erasure }: Deps, batch: DropBatchDocument): Promise<number> {
  const ids = new Set<string>();
  for (const [file, { list }] of batch.files.entries())
    if (list === 'Removed')
      for await (const part of store.entries(batch._id, file))
        for (let n = 0; n < countOf(part); n++) ids.add(idAt(part.ids, n));
  if (ids.size === 0) return 0;
  const gone = new Map<string, Buffer>();
  let count = 0;
  const isList = await maidFiles(store);
  for await (const { part, ids: stored, digests } of store.allEntries()) {
    if (!isList(part)) continue;
    const statuses = (await store.statuses(part)) ?? undecided(countOf({ ids: stored }));
    let isChanged = false;
    for (let n = 0; n < statuses.length; n++) {
      if (!ids.has(idAt(stored, n))) continue;
      gone.set(digestAt(digests, n).toString('latin1'), digestAt(digests, n));
      // The platform still wants statuses for this batch.
      if (part.batch === batch._id) continue;
      count++;
      isChanged ||= statuses[n] !== DropStatus.withdrawn;
      statuses[n] = DropStatus.withdrawn;
    }
    if (isChanged) await store.putStatuses(part, statuses);
  }
  for await (const { part, ids: stored, digests } of store.allEntries()) {
    if (!isList(part)) continue;
    const statuses = await store.statuses(part);
    for (let n = 0; n < countOf({ ids: stored }); n++)
      if (!ids.has(idAt(stored, n)) && statuses?.[n] !== DropStatus.withdrawn)
        gone.delete(digestAt(digests, n).toString('latin1'));
  }
  const digests = Buffer.concat([...gone.values()].filter(isDigest));
  if (digests.length > 0) await erasure.restore(digests);
  return count;
}

/** The files of MAID lists, as opposed to those of removed entries. */
async function maidFiles(store: Deps['store']) {
  const lists = new Map<string, boolean>();
  for (const { _id, files } of await store.list(0))
    for (const [file, { list }] of files.entries()) lists.set(`${_id}/${file}`, list === 'MAID');
  return ({ batch, file }: { batch: number; file: number }) => lists.get(`${batch}/${file}`) === true;
}
