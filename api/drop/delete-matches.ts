/**
 * listed → deleted: finds the stored devices of the batch's entries, deletes them and decides every status. A match is stored before
 * its device is deleted, because a repeated run would no longer find the device.
 */
import { createDigestTable } from '../../pipeline/formats/digest-table.ts';
import { type DropBatchDocument, DropStatus } from '../../schemas/drop-documents.ts';
import { countOf, type DropEntries, type DropPart, undecided } from '../stores/drop.ts';
import type { SessionDeps } from './dependencies.ts';
import { MAX_DEVICES } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';

type Deps = Pick<SessionDeps, 'store' | 'erasure' | 'sets' | 'progress' | 'say'>;

/** About 400 MB with their table; a larger batch takes several passes. */
const DIGESTS_PER_PASS = 10_000_000;

export async function deleteMatches(deps: Deps, batch: DropBatchDocument): Promise<DropBatchDocument> {
  const { store, erasure } = deps;
  const queued = await erasure.requestsOf(batch._id);
  for (const { id } of queued) await store.addRequest(batch._id, id);
  // What one that has failed has left is found again.
  const requests = new Set(queued.filter(({ hasFailed }) => !hasFailed).map(({ id }) => id));
  let matched = 0;
  for (const [file, { list, entries }] of batch.files.entries()) {
    if (list !== 'MAID' || entries === 0) continue;
    for await (const group of groupsOf(store.entries(batch._id, file)))
      matched += await matchGroup(deps, batch._id, group, requests);
  }
  await erasure.waitFor([...requests]);
  const deleted = await store.update(batch._id, { state: 'deleted', matched });
  faultPoint('drop:after-delete');
  return deleted;
}

async function* groupsOf(parts: AsyncIterable<DropEntries>): AsyncGenerator<DropEntries[]> {
  let group: DropEntries[] = [];
  let count = 0;
  for await (const part of parts) {
    group.push(part);
    count += countOf(part);
    if (count < DIGESTS_PER_PASS) continue;
    yield group;
    group = [];
    count = 0;
  }
  if (group.length > 0) yield group;
}

/** The statuses of a group's parts in one array, and which parts must be written. */
async function createStatuses(store: Deps['store'], parts: { part: DropPart; count: number }[]) {
  const all = undecided(parts.reduce((sum, { count }) => sum + count, 0));
  const spans: { part: DropPart; from: number; to: number; isChanged: boolean }[] = [];
  let at = 0;
  for (const { part, count } of parts) {
    (await store.statuses(part))?.copy(all, at);
    spans.push({ part, from: at, to: at + count, isChanged: false });
    at += count;
  }
  const spanOf = (n: number) => {
    let low = 0;
    for (let high = spans.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if (spans[middle]!.from <= n) low = middle;
      else high = middle;
    }
    return spans[low]!;
  };
  return {
    all,
    set(n: number, status: number): void {
      if (all[n] === status) return;
      all[n] = status;
      spanOf(n).isChanged = true;
    },
    async save(): Promise<void> {
      for (const span of spans) {
        if (!span.isChanged) continue;
        span.isChanged = false;
        await store.putStatuses(span.part, all.subarray(span.from, span.to));
      }
    },
  };
}

async function matchGroup(
  { store, erasure, sets, progress }: Deps,
  batch: number,
  group: DropEntries[],
  requests: Set<number>,
): Promise<number> {
  const digests = new Uint8Array(group.reduce((sum, part) => sum + part.digests.length, 0));
  let at = 0;
  for (const part of group) {
    digests.set(part.digests, at);
    at += part.digests.length;
  }
  const counted = group.map((entries) => ({ part: entries.part, count: countOf(entries) }));
  // Their digests are in the table now.
  group.length = 0;
  const wanted = createDigestTable(digests);
  const statuses = await createStatuses(store, counted);

  let found = new Map<string, Uint8Array>();
  async function removeFound(): Promise<void> {
    if (found.size === 0) return;
    const devices = [...found.values()];
    found = new Map();
    await statuses.save();
    faultPoint('drop:after-mark');
    for (let from = 0; from < devices.length; from += MAX_DEVICES) {
      const request = await erasure.remove(Buffer.concat(devices.slice(from, from + MAX_DEVICES)), batch);
      await store.addRequest(batch, request);
      requests.add(request);
      faultPoint('drop:after-remove');
    }
  }
  let isBusy: Promise<void> = Promise.resolve();
  await sets.match(wanted, {
    onMatch(device, n) {
      const key = Buffer.from(device).toString('latin1');
      if (!found.has(key)) found.set(key, Uint8Array.from(device));
      statuses.set(n, DropStatus.deleted);
    },
    async onPart(read, of) {
      progress('matching', Math.min(read, of), of);
      if (found.size < MAX_DEVICES) return;
      isBusy = isBusy.then(removeFound);
      await isBusy;
    },
  });
  for (const [n, first] of wanted.repeated) statuses.set(n, statuses.all[first]!);
  await isBusy;
  // A device found in several spaces may be requested twice, which is harmless: it is deleted once.
  await removeFound();
  for (let n = 0; n < statuses.all.length; n++)
    if (statuses.all[n] === DropStatus.undecided) statuses.set(n, DropStatus.notFound);
  await statuses.save();
  return statuses.all.reduce((sum, status) => sum + Number(status === DropStatus.deleted), 0);
}
