/**
 * Amends entries that were reported as not found and whose devices came with a later load. The load suppressed the devices, and their
 * status becomes "deleted". The whole amendment is stored before its first step.
 */
import { Binary } from 'mongodb';
import { type DropAmendmentDocument, DropStatus } from '../../schemas/drop-documents.ts';
import { countOf, type DropStore, digestAt, idAt, parsePart, partId } from '../stores/drop.ts';
import type { SessionDeps } from './dependencies.ts';
import { faultPoint } from './fault-points.ts';
import { UPLOAD_HEADER, withSuffix } from './list-files.ts';

type Deps = Pick<SessionDeps, 'store' | 'platform' | 'erasure' | 'say'>;

/** The stored prefix of a digest. */
const DIGEST_PREFIX_BYTES = 16;
const splitDigests = (digests: Buffer): Buffer[] =>
  Array.from({ length: digests.length / DIGEST_PREFIX_BYTES }, (_, n) =>
    digests.subarray(n * DIGEST_PREFIX_BYTES, (n + 1) * DIGEST_PREFIX_BYTES),
  );
/** Small enough for one document. */
const LATE_MATCHES_AT_ONCE = 100_000;

/** Returns how many entries were amended. */
export async function amendLateMatches(deps: Deps): Promise<number> {
  const { store, erasure } = deps;
  let amended = 0;
  for (;;) {
    let amendment = await store.pendingAmendment();
    if (!amendment) {
      const lateMatches = await erasure.lateMatches(LATE_MATCHES_AT_ONCE);
      if (lateMatches.length === 0) return amended;
      amendment = await planAmendment(store, lateMatches);
      await store.addAmendment(amendment);
      faultPoint('drop:after-amendment');
    }
    const sent = await carryOut(deps, amendment);
    if (sent === undefined) return amended;
    amended += sent;
  }
}

async function planAmendment(store: DropStore, lateMatches: Uint8Array[]): Promise<DropAmendmentDocument> {
  const matched = new Set(lateMatches.map((digest) => Buffer.from(digest).toString('latin1')));
  const _id = await store.nextAmendment();
  const names = new Map<string, string>();
  for (const batch of await store.list(0))
    for (const [file, { name, list }] of batch.files.entries())
      if (list === 'MAID') names.set(`${batch._id}/${file}`, name);
  const files: DropAmendmentDocument['files'] = [];
  for await (const { part, ids, digests: stored } of store.allEntries()) {
    const name = names.get(`${part.batch}/${part.file}`);
    const statuses = name === undefined ? undefined : await store.statuses(part);
    if (name === undefined || !statuses) continue;
    const places: number[] = [];
    for (let n = 0; n < countOf({ ids }); n++)
      if (
        statuses[n] === DropStatus.notFound &&
        matched.has(digestAt(stored, n).toString('latin1', 0, DIGEST_PREFIX_BYTES))
      )
        places.push(n);
    if (places.length === 0) continue;
    // From the amendment's id and the file's index: unique.
    const suffix = `a${_id.toString(36)}x${files.length.toString(36)}`;
    files.push({
      name: withSuffix(name, suffix),
      part: partId(part),
      ids: places.map((n) => idAt(ids, n)),
      places,
      state: 'pending',
    });
  }
  return {
    _id,
    state: 'pending',
    createdAt: new Date(),
    digests: new Binary(Buffer.concat(lateMatches)),
    files,
  };
}

/** Undefined: the platform takes no amendment now, and the next session sends it. */
async function carryOut(
  { store, platform, erasure, say }: Deps,
  { _id, files, digests }: DropAmendmentDocument,
): Promise<number | undefined> {
  for (const { part, places } of files) {
    const statuses = (await store.statuses(parsePart(part)))!;
    for (const n of places) statuses[n] = DropStatus.deleted;
    await store.putStatuses(parsePart(part), statuses);
  }
  await erasure.forgetLateMatches(splitDigests(Buffer.from(digests.value())));
  for (const file of files) {
    if (file.state === 'accepted') continue;
    file.state = 'sending';
    await store.setAmendment(_id, { files });
    const csv = [UPLOAD_HEADER, ...file.ids.map((id) => `${id},${DropStatus.deleted}`), ''].join('\n');
    const sent = await platform.amend(file.name, csv);
    faultPoint('drop:after-amend-post');
    if (sent.outcome === 'conflict' || sent.outcome === 'rejected') {
      say(`DROP did not take amendment ${file.name}, the next session sends it again: ${sent.message}`);
      return undefined;
    }
    file.state = 'accepted';
    await store.setAmendment(_id, { files });
  }
  await store.setAmendment(_id, { state: 'complete' });
  return files.reduce((sum, { ids }) => sum + ids.length, 0);
}
