/**
 * Edits one slot of a space, copy-on-write: new pages are written next to the old ones, then a compare-and-set replaces the manifest, which
 * makes the edit visible atomically. The manifest records the job and what it added, so a repeated job finds its own result. A zombie owner
 * finds its job, or a later one of the partner, or loses the compare-and-set; there is no other fence. Within a process, edits of a
 * manifest are serialized: otherwise short edits would make a long one start over.
 */
import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { ManifestDocument, PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { packCounts, unpackCounts } from '../formats/number-table.ts';
import { groupBy } from '../runtime/collections.ts';
import type { createOneAtATime } from '../runtime/one-at-a-time.ts';
import { completeErasure, type Erasing } from './complete-erasure.ts';
import type { Devices } from './devices.ts';
import { setPoint } from './fault-points.ts';
import { createLease } from './lease.ts';
import { type Manifest, manifestId } from './manifests.ts';
import { createPageWriter } from './page-writer.ts';
import { Raced, waitAfterLoss } from './races.ts';
import type { ReadDeps } from './read-regions.ts';
import { createLayOut, type IdRange, type Layout, pagesOf, renewalId, writtenWith } from './regions.ts';
import type { Removals } from './removals.ts';
import { withAddresses, withoutAddresses } from './slot-addresses.ts';

export interface EditDeps extends ReadDeps {
  layout: Layout;
  removals: Removals;
  oneAtATime: ReturnType<typeof createOneAtATime>;
}

export interface SlotTarget {
  space: string;
  slot: number;
  /** One job, or several imports. A partner's jobs are merged in order. */
  jobs: readonly TargetJob[];
  /** All jobs below this number have ended. */
  endedBefore: number;
  /** Whether the slot's merge of the job is not acknowledged yet. */
  isOpen(job: number): boolean;
  /** With several jobs: the last job that has the key. */
  jobOf?(key: number): number;
  /** The first of them. Its change lists the key with 0 pairs, because it is unknown which job added a pair. */
  firstJobOf?(key: number): number;
  /** Suppressed devices of a job, known when all of it has been read. */
  suppressedOf?(job: number): Suppressed | undefined;
  /** Whether the jobs are recorded even if they change nothing: repeated by a zombie owner, they could, once later jobs have. */
  isRecorded?(): boolean;
}

interface TargetJob {
  job: number;
  partner: string;
}

/** Devices of a job that were not merged because they are suppressed. */
export interface Suppressed {
  /** Distinct devices. */
  devices: number;
  byFile: Map<number, number>;
}

/** What a job changed. If several jobs shared a merge, the last one has the devices of all. */
export interface SlotChange {
  job: number;
  /** Devices added; for a deletion, devices that lost a key. */
  devices: number;
  /** Added devices that match the marketplace. */
  matched: number;
  /** Pairs added, or removed, by key. */
  pairs: Map<number, number>;
  /** Suppressed devices, if any. */
  suppressed?: Suppressed | undefined;
  /** It was dropped. What a deletion had removed before then stays removed. */
  dropped?: true;
}

export interface Edited {
  /** Distinct devices of the slot now. */
  total: number;
  /** Changes of unacknowledged jobs; the same in repeated calls. */
  changes: SlotChange[];
  /** The job has more to do, in another edit. */
  isPaused?: true;
}

/** The manifest being edited. */
export interface SlotEdit {
  readonly manifest: Manifest;
  readonly layOut: ReturnType<typeof createLayOut>;
  /** Await it before reading what this edit may have written. */
  flush(): Promise<void>;
  /** Renews the lease of a long edit. Await it with each step. */
  renew(): Promise<void>;
  readonly change: SlotChange;
  total: number;
  /** Counts new devices and lists their addresses. */
  add(devices: Devices): void;
  /** Counts devices as removed. If their addresses are not given, the slot lists none from then on. */
  remove(count: number, addresses?: Uint32Array): void;
  /** Buffered; always written before the manifest. */
  write(pages: PageDocument[]): Promise<void>;
  replace(region: RegionEntry, by: RegionEntry[]): void;
  regions(): RegionEntry[];
  /** Records a pending erasure: its devices no longer count and are removed from the pages afterwards. */
  erase(erasing: Erasing): void;
  /** The last region that earlier edits of the job have done. */
  readonly done: RegionEntry | undefined;
  /** Ends this edit, but not the job, which has done the regions up to this one. */
  pauseAfter(region: RegionEntry): void;
  /** Records that the job changes nothing more. */
  drop(): void;
}

/** One of several jobs to merge together is already merged or dropped: merge them one by one. */
class NotTogether extends Error {}

/** Starts with the time, so that a sweep knows its age. */
const newToken = () => Date.now().toString(36) + randomBytes(3).toString('hex');
export const tokenTime = (token: string) => Number.parseInt(token.slice(0, -6), 36);

/** Edits the slot, with retries if another writer was faster. Does nothing if the slot already has the change. */
export const editSlot = (
  deps: EditDeps,
  target: SlotTarget,
  work: (edit: SlotEdit) => Promise<void>,
): Promise<Edited> =>
  deps.oneAtATime(manifestId(target.space, target.slot), async () => {
    for (let attempt = 1; ; attempt++) {
      const manifest = await deps.manifests.read(target);
      const merged = target.jobs.filter((job) => isMerged(manifest, job));
      if (merged.length === target.jobs.length)
        return { total: manifest.devices, changes: changesOf(manifest) };
      // Merged again together with others, a job would count their additions and bring back what was deleted since.
      if (merged.length > 0)
        throw new NotTogether(`a job to merge into ${manifest._id} is already merged or dropped`);
      if (manifest.erasing) {
        await completeErasure(deps, target);
        continue;
      }
      const done = await tryToEdit(deps, target, manifest, work);
      if (done) return done;
      await waitAfterLoss(attempt, manifest._id);
    }
  });

const isMerged = ({ merged, removing, endedBefore }: Manifest, { job, partner }: TargetJob): boolean =>
  job < endedBefore ||
  merged.some((last) => last.partner === partner && last.job >= job) ||
  // Otherwise a zombie could bring back what the deletion has removed.
  (removing?.some((deletion) => deletion.partner === partner && deletion.change.job > job) ?? false);

async function tryToEdit(
  deps: EditDeps,
  target: SlotTarget,
  manifest: Manifest,
  work: (edit: SlotEdit) => Promise<void>,
): Promise<Edited | undefined> {
  const token = newToken();
  const { job, partner } = target.jobs.at(-1)!;
  const removing = manifest.removing ?? [];
  const begun = removing.find((deletion) => deletion.change.job === job);
  const change: SlotChange = begun
    ? unpacked(begun.change)
    : { job, devices: 0, matched: 0, pairs: new Map() };
  let { addresses } = manifest;
  let regions = manifest.regions;
  let isChanged = begun !== undefined;
  let last: RegionEntry | undefined;
  let erasing: Erasing | undefined;
  const replaced: IdRange[] = [];
  const writer = createPageWriter(deps.pages);
  const lease = createLease(deps.pages, manifest._id, token, tokenTime(token));
  const edit: SlotEdit = {
    manifest,
    layOut: createLayOut(manifest._id, token, deps.layout),
    change,
    total: manifest.devices,
    add(devices) {
      change.devices += devices.count;
      edit.total += devices.count;
      addresses = withAddresses(addresses, devices);
    },
    remove(count, removed) {
      edit.total -= count;
      if (count > 0) addresses = withoutAddresses(addresses, removed);
    },
    write: writer.add,
    flush: writer.flush,
    renew: lease.renew,
    replace(region, by) {
      isChanged = true;
      regions = regions.flatMap((known) => (known === region ? by : [known]));
      const kept = new Set(by.flatMap(({ levels }) => levels));
      for (const level of region.levels)
        if (!kept.has(level)) replaced.push(pagesOf(manifest._id, level, region));
    },
    regions: () => regions,
    erase(counted) {
      isChanged = true;
      erasing = counted;
    },
    done: begun?.last,
    pauseAfter(region) {
      isChanged = true;
      last = { ...region, levels: [] };
    },
    drop() {
      isChanged = true;
      change.dropped = true;
    },
  };
  const giveUp = () => deps.pages.remove([writtenWith(manifest._id, token)]).catch(() => {});
  try {
    await work(edit);
    await writer.flush();
  } catch (error) {
    await giveUp();
    if (error instanceof Raced) return undefined;
    throw error;
  }
  if (!isChanged && !target.isRecorded?.()) return { total: manifest.devices, changes: changesOf(manifest) };
  if (lease.isRenewed()) {
    const renewal = renewalId(manifest._id, token);
    replaced.push({ from: renewal, to: renewal });
  }
  const endedBefore = Math.max(manifest.endedBefore, target.endedBefore);
  const stored = manifest.changes.filter(
    ({ job, dropped }) => job >= endedBefore && (dropped || target.isOpen(job)),
  );
  const own = byJob(change, target);
  const others = removing.filter((deletion) => deletion !== begun && deletion.change.job >= endedBefore);
  const next: ManifestDocument = {
    ...manifest,
    devices: edit.total,
    ...(addresses ? { addresses } : {}),
    merged: mergedWith(manifest, last ? [] : target.jobs, endedBefore),
    endedBefore,
    changes: last ? stored : [...stored, ...own],
    removing: last ? [...others, { partner, change: own[0]!, last }] : others,
    regions,
    replaced,
    ...(erasing ? { erasing } : {}),
  };
  if (!addresses) delete next.addresses;
  if (next.removing!.length === 0) delete next.removing;
  // The new manifest no longer lists the pages replaced by the last edit.
  await deps.removals.finish(manifest);
  setPoint('sink:before-manifest');
  const outcome = lease.hasEnded() ? 'lost' : await deps.manifests.replace(next);
  setPoint('sink:after-manifest');
  // If the outcome is unknown, the pages stay: a stored manifest may reference them. Otherwise they are swept later.
  if (outcome === 'lost') await giveUp();
  if (outcome !== 'landed') return undefined;
  deps.removals.begin({ ...next, version: manifest.version + 1 });
  return { total: next.devices, changes: changesOf(next), ...(last ? { isPaused: true } : {}) };
}

/** The last merged job of each partner with unfinished jobs. */
function mergedWith(manifest: Manifest, jobs: readonly TargetJob[], endedBefore: number): Manifest['merged'] {
  const last = new Map(manifest.merged.map(({ partner, job }) => [partner, job]));
  for (const { partner, job } of jobs) last.set(partner, Math.max(job, last.get(partner) ?? 0));
  return [...last].map(([partner, job]) => ({ partner, job })).filter(({ job }) => job >= endedBefore);
}

/** The change as stored in the manifest: pairs by job. */
function byJob(
  change: SlotChange,
  { jobs, jobOf = () => change.job, firstJobOf = jobOf, suppressedOf = () => undefined }: SlotTarget,
): Manifest['changes'] {
  const { suppressed: _, ...own } = change;
  const alsoOfFirst = [...change.pairs.keys()].filter((key) => firstJobOf(key) !== jobOf(key));
  const pairs = groupBy(change.pairs, ([key]) => jobOf(key));
  for (const [job, keys] of groupBy(alsoOfFirst, firstJobOf))
    pairs.set(job, [...(pairs.get(job) ?? []), ...keys.map((key): [number, number] => [key, 0])]);
  const packed = (job: number) => ({
    pairs: new Binary(packCounts(new Map(pairs.get(job)))),
    ...packSuppressed(suppressedOf(job)),
  });
  const others = jobs
    .map(({ job }) => job)
    .filter((job) => job !== change.job && (pairs.has(job) || suppressedOf(job)));
  return [
    ...others.map((job) => ({ job, devices: 0, matched: 0, ...packed(job) })),
    { ...own, ...packed(change.job) },
  ];
}

/** The format in manifests and acks. */
export const packSuppressed = (suppressed: Suppressed | undefined) =>
  suppressed
    ? { suppressed: suppressed.devices, suppressedByFile: new Binary(packCounts(suppressed.byFile)) }
    : {};

const changesOf = ({ changes }: Manifest): SlotChange[] => changes.map(unpacked);

const unpacked = ({
  pairs,
  suppressed: devices,
  suppressedByFile,
  ...change
}: Manifest['changes'][number]): SlotChange => ({
  ...change,
  pairs: unpackCounts(pairs.buffer),
  ...(devices ? { suppressed: { devices, byFile: unpackCounts(suppressedByFile!.buffer) } } : {}),
});
