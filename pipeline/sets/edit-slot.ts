/**
 * A change of one slot of a space: new documents are written beside the old ones, and then the manifest is replaced, by which all of
 * it happens at once. The manifest carries the number of the job and what it added: done again, the job finds its own result there.
 * An owner that does not know that it has been replaced finds the job, or a later one of its partner, or loses against the version. There
 * is no other fence. In one process, changes of a manifest wait for each other: otherwise short ones would make a long one start over.
 */
import { randomBytes } from 'node:crypto';
import { Binary } from 'mongodb';
import type { ManifestDocument, PageDocument, RegionEntry } from '../../schemas/stage-documents.ts';
import { packCounts, unpackCounts } from '../formats/number-table.ts';
import { groupBy } from '../runtime/collections.ts';
import type { createOneAtATime } from '../runtime/one-at-a-time.ts';
import { completeErasure, type Erasing } from './complete-erasure.ts';
import { setPoint } from './fault-points.ts';
import { createLease } from './lease.ts';
import { type Manifest, manifestId } from './manifests.ts';
import { Raced, waitAfterLoss } from './races.ts';
import type { ReadDeps } from './read-regions.ts';
import {
  createLayOut,
  documentBytes,
  type IdRange,
  type Layout,
  pagesOf,
  renewalId,
  writtenWith,
} from './regions.ts';
import type { Removals } from './removals.ts';

export interface EditDeps extends ReadDeps {
  layout: Layout;
  removals: Removals;
  oneAtATime: ReturnType<typeof createOneAtATime>;
}

export interface SlotTarget {
  space: string;
  slot: number;
  /** One, or several imports. Those of a partner are merged in the order of their numbers. */
  jobs: readonly TargetJob[];
  /** All jobs below this number have ended. */
  endedBefore: number;
  /** Whether what the slot has merged of a job is still to be acknowledged. */
  isOpen(job: number): boolean;
  /** Of several jobs, the one that brought the key; of one that several brought, the last of them. */
  jobOf?(key: number): number;
  /** And the first of them. Its change has the key, too, with 0 pairs: which of them added a pair is not known. */
  firstJobOf?(key: number): number;
  /** What was left out of a job, known when all of it has been read. */
  suppressedOf?(job: number): Suppressed | undefined;
}

interface TargetJob {
  job: number;
  partner: string;
}

/** Devices of a job that were not merged because they are suppressed. */
export interface Suppressed {
  /** Distinct ones. */
  devices: number;
  byFile: Map<number, number>;
}

/** What a job has changed. Of several that were merged together, the last has the devices of all. */
export interface SlotChange {
  job: number;
  /** Devices added; of a deletion, those that have lost a key. */
  devices: number;
  /** Of those added, those that some attribute held. */
  matched: number;
  /** Pairs added, or removed, by key. */
  pairs: Map<number, number>;
  /** Devices that were left out, if any. */
  suppressed?: Suppressed | undefined;
  /** It was dropped instead. */
  dropped?: true;
}

export interface Edited {
  /** Distinct devices of the slot now. */
  total: number;
  /** Of jobs that are not acknowledged yet; repeated calls find the same for each. */
  changes: SlotChange[];
}

/** The manifest as it is being changed. */
export interface SlotEdit {
  readonly manifest: Manifest;
  readonly layOut: ReturnType<typeof createLayOut>;
  /** To be awaited before something is read that this change may have written. */
  flush(): Promise<void>;
  /** Keeps a change alive that takes long. To be awaited with each step of it. */
  renew(): Promise<void>;
  readonly change: SlotChange;
  total: number;
  /** Written when this resolves, or soon: before the manifest in any case. */
  write(pages: PageDocument[]): Promise<void>;
  /** Puts others in the place of a region. */
  replace(region: RegionEntry, by: RegionEntry[]): void;
  regions(): RegionEntry[];
  /** Records a pending erasure: its devices no longer count, and are removed from the pages afterwards. */
  erase(erasing: Erasing): void;
  /** Stores that the job changes nothing, now or later. */
  drop(): void;
}

/** One of several jobs that were to be merged together is merged or dropped already: they have to be merged one by one. */
class NotTogether extends Error {}

const WRITE_BYTES = 4 << 20;

/** Begins with the time, so that a sweep can tell its age. */
const newToken = () => Date.now().toString(36) + randomBytes(3).toString('hex');
export const tokenTime = (token: string) => Number.parseInt(token.slice(0, -6), 36);

/** Makes the change, and retries if another writer was faster; does nothing if the slot has it already. */
export const editSlot = (
  deps: EditDeps,
  target: SlotTarget,
  work: (edit: SlotEdit) => Promise<void>,
): Promise<Edited> =>
  deps.oneAtATime(manifestId(target.space, target.slot), async () => {
    for (let attempt = 1; ; attempt++) {
      const manifest = await deps.manifests.read(target);
      const merged = target.jobs.filter((one) => isMerged(manifest, one));
      if (merged.length === target.jobs.length)
        return { total: manifest.devices, changes: changesOf(manifest) };
      // Merged again with others, a job would count what they add, and bring back what was deleted since.
      if (merged.length > 0)
        throw new NotTogether(`a job is merged or was dropped that was to be merged into ${manifest._id}`);
      if (manifest.erasing) {
        await completeErasure(deps, target);
        continue;
      }
      const done = await tryToEdit(deps, target, manifest, work);
      if (done) return done;
      await waitAfterLoss(attempt, manifest._id);
    }
  });

const isMerged = ({ merged, endedBefore }: Manifest, { job, partner }: TargetJob): boolean =>
  job < endedBefore || merged.some((one) => one.partner === partner && one.job >= job);

async function tryToEdit(
  deps: EditDeps,
  target: SlotTarget,
  manifest: Manifest,
  work: (edit: SlotEdit) => Promise<void>,
): Promise<Edited | undefined> {
  const token = newToken();
  const { job } = target.jobs.at(-1)!;
  const change: SlotChange = { job, devices: 0, matched: 0, pairs: new Map() };
  let regions = manifest.regions;
  let isChanged = false;
  let erasing: Erasing | undefined;
  const replaced: IdRange[] = [];
  const writer = createWriter(deps);
  const lease = createLease(deps.pages, manifest._id, token, tokenTime(token));
  const edit: SlotEdit = {
    manifest,
    layOut: createLayOut(manifest._id, token, deps.layout),
    change,
    total: manifest.devices,
    write: writer.add,
    flush: writer.flush,
    renew: lease.renew,
    replace(region, by) {
      isChanged = true;
      regions = regions.flatMap((one) => (one === region ? by : [one]));
      const kept = new Set(by.flatMap(({ levels }) => levels));
      for (const level of region.levels)
        if (!kept.has(level)) replaced.push(pagesOf(manifest._id, level, region));
    },
    regions: () => regions,
    erase(counted) {
      isChanged = true;
      erasing = counted;
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
  if (!isChanged) return { total: manifest.devices, changes: changesOf(manifest) };
  if (lease.isRenewed()) {
    const renewal = renewalId(manifest._id, token);
    replaced.push({ from: renewal, to: renewal });
  }
  const endedBefore = Math.max(manifest.endedBefore, target.endedBefore);
  const stored = manifest.changes.filter(
    (one) => one.job >= endedBefore && (one.dropped || target.isOpen(one.job)),
  );
  const next: ManifestDocument = {
    ...manifest,
    devices: edit.total,
    merged: mergedWith(manifest, target.jobs, endedBefore),
    endedBefore,
    changes: [...stored, ...byJob(change, target)],
    regions,
    replaced,
    ...(erasing ? { erasing } : {}),
  };
  // The list of what the last change has replaced is about to be lost.
  await deps.removals.finish(manifest);
  setPoint('sink:before-manifest');
  const outcome = lease.hasEnded() ? 'lost' : await deps.manifests.replace(next);
  setPoint('sink:after-manifest');
  // Pages that a stored manifest may name stay: if none does, they are swept later.
  if (outcome === 'lost') await giveUp();
  if (outcome !== 'landed') return undefined;
  deps.removals.begin({ ...next, version: manifest.version + 1 });
  return { total: next.devices, changes: changesOf(next) };
}

/** The last job of each partner that has jobs which may not have ended. */
function mergedWith(manifest: Manifest, jobs: readonly TargetJob[], endedBefore: number): Manifest['merged'] {
  const last = new Map(manifest.merged.map(({ partner, job }) => [partner, job]));
  for (const { partner, job } of jobs) last.set(partner, Math.max(job, last.get(partner) ?? 0));
  return [...last].map(([partner, job]) => ({ partner, job })).filter(({ job }) => job >= endedBefore);
}

/** As the manifest has it: the pairs of each job. */
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

/** As manifests and acks have it. */
export const packSuppressed = (suppressed: Suppressed | undefined) =>
  suppressed
    ? { suppressed: suppressed.devices, suppressedByFile: new Binary(packCounts(suppressed.byFile)) }
    : {};

/** Collects the pages of many small changes into one write, and lets a large one through at once. */
function createWriter({ pages }: EditDeps) {
  let waiting: PageDocument[] = [];
  let bytes = 0;
  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    const written = waiting;
    waiting = [];
    bytes = 0;
    setPoint('sink:before-pages');
    await pages.write(written);
    setPoint('sink:after-pages');
  }
  return {
    flush,
    async add(more: PageDocument[]): Promise<void> {
      waiting.push(...more);
      bytes += more.reduce((sum, page) => sum + documentBytes(page), 0);
      if (bytes >= WRITE_BYTES) await flush();
    },
  };
}

const changesOf = ({ changes }: Manifest): SlotChange[] =>
  changes.map(({ pairs, suppressed: devices, suppressedByFile, ...change }) => ({
    ...change,
    pairs: unpackCounts(pairs.buffer),
    ...(devices ? { suppressed: { devices, byFile: unpackCounts(suppressedByFile!.buffer) } } : {}),
  }));
