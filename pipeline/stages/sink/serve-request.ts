/**
 * Serves a privacy request in some slots. Every step is idempotent: a slot applies each change of the request once, and stores what it
 * found before it removes anything.
 *
 * A deletion first adds the devices to the suppression list. Then it fences merges that may have read the older list and are not ordered
 * with the request: those of other partners, if it concerns all partners. After that nothing can bring the devices back, so they can be
 * found and removed without hurry.
 */
import { Binary } from 'mongodb';
import { spaces } from '../../../schemas/documents.ts';
import type { JobMarker } from '../../../schemas/topics.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { canonicalForms, WORDS } from '../../formats/identifier.ts';
import { packCounts, packNumbers } from '../../formats/number-table.ts';
import { createByteBudget } from '../../runtime/byte-budget.ts';
import { inParallel } from '../../runtime/in-parallel.ts';
import {
  createLookedPages,
  type DeviceSets,
  type SlotChange,
  type SlotTarget,
} from '../../sets/device-sets.ts';
import { asBytes, type Devices, merge } from '../../sets/devices.ts';
import { Pairs, sortPairs } from '../../sets/sort-pairs.ts';
import { shortDigestsOf } from '../../sets/suppressions.ts';
import type { Ack, AckStore } from '../../stores/acks.ts';
import type { AttributeStore } from '../../stores/attributes.ts';
import type { AudienceStore } from '../../stores/audiences.ts';
import type { DryRunStore } from '../../stores/dry-runs.ts';
import type { EventValueStore } from '../../stores/event-values.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';
import type { RejectStore } from '../../stores/rejects.ts';
import type { RequestResult, RequestResultStore } from '../../stores/request-results.ts';
import type { SpillStore } from '../../stores/spills.ts';
import { createAnswerRequest } from './answer-request.ts';
import type { CommittedJobs } from './committed-jobs.ts';
import { noChange, targetOf } from './drop-job.ts';
import { listOf } from './drop-request.ts';
import { createFindDevices, isForAll, type WantedDevices } from './find-devices.ts';
import type { GatherParts } from './gather-parts.ts';
import type { GatheredSlot } from './gather-slot.ts';
import type { SinkStep } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'merge' | 'erase' | 'fence' | 'look' | 'holders' | 'spacesOf'>;
  acks: Pick<AckStore, 'recordAndAdvance'>;
  jobs: Pick<JobStore, 'decidedLoads'>;
  audiences: Pick<AudienceStore, 'spacesOf' | 'currentAmong' | 'toSweep'>;
  attributes: Pick<AttributeStore, 'ownedAmong'>;
  eventValues: Pick<EventValueStore, 'valuesOf'>;
  requestResults: Pick<RequestResultStore, 'find' | 'store' | 'storePart'>;
  rejects: Pick<RejectStore, 'erase'>;
  dryRuns: Pick<DryRunStore, 'erase'>;
  spills: Pick<SpillStore, 'forget' | 'sizes'>;
  gatherParts: GatherParts;
  hashDevice: DeviceHash;
  secret: Uint8Array;
}

export interface Serving {
  slots: number[];
  committed: CommittedJobs;
  uncommitted: Uncommitted;
}

interface Wanted extends WantedDevices {
  target(space: string): SlotTarget;
}

const AUDIENCES_AT_ONCE = 8;

/** Slots and partitions are served concurrently up to about this many bytes. */
const SERVED_BYTES = 32_000_000;
/** Limit of the pages that a look-up, and then an erasure, holds in memory: a few kilobytes per device. */
const MAX_PAGE_BYTES = 8_000_000;
const heldBytes = (bytes: number) => 4 * bytes + 2 * Math.min(256 * bytes, MAX_PAGE_BYTES);

export function createServeRequest(deps: Dependencies) {
  const { sets, requestResults: results, hashDevice: hash } = deps;
  const budget = createByteBudget(SERVED_BYTES);
  const answer = createAnswerRequest(deps);
  const findDevices = createFindDevices(deps);

  /** The request's devices in a slot, and distinct devices by file. */
  async function gather(marker: JobMarker, slot: number, uncommitted: Uncommitted) {
    const parts: Devices[] = [];
    const filePairs: number[] = [];
    const gathering = {
      ...{ markers: [marker], uncommitted, slot, parts: 1 },
      numberKeysOf: () => async (keys: string[]) => keys.map(() => 0),
      onGathered: (_: number, gathered: GatheredSlot) => filePairs.push(...[...gathered.filePairs].flat()),
    };
    for await (const part of deps.gatherParts(gathering)) parts.push(part);
    return { devices: merge(parts), filePairs };
  }

  /** The devices' digests as the suppression list stores them, with the number of the request. */
  function digestsOf({ devices, marker }: Wanted): Devices {
    const pairs = new Pairs();
    pairs.add(shortDigestsOf(devices), 0, devices.count, marker.job, 0);
    return sortPairs(pairs, hash).devices;
  }

  const changeIn = (changes: SlotChange[], { job }: JobMarker) => changes.find((known) => known.job === job);

  async function suppress(wanted: Wanted, step: SinkStep): Promise<void> {
    const { marker, slot } = wanted;
    const digests = digestsOf(wanted);
    const part = async function* () {
      yield digests;
    };
    await step('suppress', () => sets.merge(wanted.target(listOf(marker)), part));
    // A partner's own request is in the partner's lane, so it is ordered with all of its jobs.
    if (!isForAll(marker)) return;
    const inFlight = await step.read('find loads in flight', () => deps.jobs.decidedLoads());
    for (const space of new Set([spaces.marketplace, ...inFlight.map(spaces.of)]))
      await step('fence', () => sets.fence({ space, slot }));
  }

  /** Stores which spaces hold the devices; also returns their attributes. */
  async function find(wanted: Wanted, step: SinkStep): Promise<RequestResult & { keys: Set<number> }> {
    const { job } = wanted.marker;
    const found = new Set<number>();
    const held: string[] = [];
    let keys = new Set<number>();
    for await (const { space, found: keysByDevice } of findDevices(wanted, step)()) {
      held.push(space);
      for (const n of keysByDevice.keys()) found.add(n);
      if (space === spaces.marketplace) keys = new Set([...keysByDevice.values()].flat());
    }
    const result = { job, slot: wanted.slot, found: found.size, spaces: held };
    return { ...(await step('keep-result', () => results.store(result))), keys };
  }

  async function remove(request: Wanted, step: SinkStep): Promise<Ack> {
    const looked = createLookedPages();
    const wanted = { ...request, looked };
    const { marker, slot, devices } = wanted;
    const { job, partner } = marker;
    let result: (RequestResult & { keys?: Set<number> }) | null = await step.read('read what was found', () =>
      results.find(job, slot),
    );
    if (!result) {
      await suppress(wanted, step);
      result = await find(wanted, step);
    }
    // Another request may have removed the devices since.
    const recorded = (space: string) => ({ ...wanted.target(space), isRecorded: () => true, looked });
    const audiences: number[][] = [];
    await inParallel(result.spaces, AUDIENCES_AT_ONCE, async (space) => {
      const audience = spaces.parse(space);
      if (!audience) return;
      const target = { ...recorded(space), matchIn: spaces.marketplace };
      const { changes } = await step('erase', () => sets.erase(target, devices));
      const { devices: removed, matched } = changeIn(changes, marker) ?? { devices: 0, matched: 0 };
      audiences.push([audience.audience, audience.generation, removed, matched]);
    });
    const ack = { ...noChange(job, slot, 0), uniqueDevices: result.found };
    if (audiences.length > 0) ack.audiences = new Binary(packNumbers(audiences));
    // The marketplace last: the matches of audiences are counted against it.
    if (result.spaces.includes(spaces.marketplace)) {
      const keys = isForAll(marker) ? undefined : (result.keys ?? (await ownKeys(wanted, step)));
      const target = { ...recorded(spaces.marketplace), keys };
      const { changes } = await step('erase', () => sets.erase(target, devices));
      const pairs = changeIn(changes, marker)?.pairs ?? new Map<number, number>();
      ack.attributePairs = new Binary(packCounts(pairs));
      ack.pairs = [...pairs.values()].reduce((sum, count) => sum + count, 0);
    }
    await eraseCleared(wanted, step);
    await eraseRows(wanted, isForAll(marker) ? undefined : partner, step);
    return ack;
  }

  /** Cleared audiences that are not swept yet. They do not count in the result. */
  async function eraseCleared({ marker, slot, devices, target }: Wanted, step: SinkStep): Promise<void> {
    const cleared = await step.read('look for cleared audiences', () => deps.audiences.toSweep().toArray());
    const theirs = cleared.filter(({ partner }) => isForAll(marker) || partner === marker.partner);
    const generations = new Map(theirs.map(({ _id, generation }) => [_id, generation]));
    const held = await step.read('find their devices', () => sets.spacesOf([...generations.keys()]));
    const isCleared = (space: string) => {
      const { audience, generation } = spaces.parse(space)!;
      return generation < generations.get(audience)!;
    };
    const holders = await step.read('look up cleared audiences', () =>
      sets.holders({ spaces: held.filter(isCleared), slot }, devices),
    );
    for (const space of holders) await step('erase', () => sets.erase(target(space), devices));
  }

  async function ownKeys({ marker, slot, devices }: Wanted, step: SinkStep): Promise<Set<number>> {
    const held = await step.read('look up the marketplace', () =>
      sets.look({ space: spaces.marketplace, slot }, devices),
    );
    const keys = [...new Set([...held.values()].flat())];
    return step.read("find the partner's attributes", () => deps.attributes.ownedAmong(marker.partner, keys));
  }

  /** Erases the devices from stored rejected rows. */
  async function eraseRows({ devices }: Wanted, partner: string | undefined, step: SinkStep): Promise<void> {
    if (devices.count === 0) return;
    const { words, count } = devices;
    const identifiers = new Set(namesOf(devices));
    const hashes = Array.from({ length: count }, (_, n) => hash(words, n * WORDS));
    const isErased = (identifier: string) => identifiers.has(identifier);
    await step('erase-rows', () => deps.rejects.erase(hashes, isErased, partner));
    await step('erase-rows', () => deps.dryRuns.erase(isErased, partner));
  }

  async function restore(wanted: Wanted, step: SinkStep): Promise<Ack> {
    const { marker, slot } = wanted;
    const target = wanted.target(listOf(marker));
    const { changes } = await step('erase', () => sets.erase(target, digestsOf(wanted)));
    return { ...noChange(marker.job, slot, 0), uniqueDevices: changeIn(changes, marker)?.devices ?? 0 };
  }

  async function access(wanted: Wanted, step: SinkStep): Promise<Ack> {
    const { marker, slot, devices } = wanted;
    const { job } = marker;
    const found = await answer({ job, slot, devices }, findDevices(wanted, step), step);
    return { ...noChange(job, slot, 0), uniqueDevices: found };
  }

  const serve: Record<string, (wanted: Wanted, step: SinkStep) => Promise<Ack>> = {
    delete: remove,
    restore,
    access,
  };

  async function serveSlot(
    marker: JobMarker,
    slot: number,
    { committed, uncommitted }: Serving,
    step: SinkStep,
  ): Promise<void> {
    const { job } = marker;
    const gathered = await step.read('gather a slot', () => gather(marker, slot, uncommitted));
    const { devices, filePairs } = gathered;
    const target = (space: string) => ({ ...targetOf([marker], slot, committed), space });
    const isEmpty = devices.count === 0;
    const ack = isEmpty
      ? noChange(job, slot, 0)
      : await serve[marker.privacy]!({ marker, slot, devices, target }, step);
    await step('ack', () => deps.acks.recordAndAdvance([{ ...ack, filePairs }]));
    committed.add(slot, [job]);
    uncommitted.forgetSlot(slot, [job]);
  }

  return async (marker: JobMarker, serving: Serving, step: SinkStep): Promise<void> => {
    const { slots, uncommitted } = serving;
    const { job } = marker;
    const hasSpilled = uncommitted.hasSpilled(job);
    const spilled = hasSpilled
      ? await step.read('read spill sizes', () => deps.spills.sizes([job], slots))
      : new Map<number, number>();
    const bytesOf = (slot: number) => uncommitted.bytesOf(job, slot) + (spilled.get(slot) ?? 0);
    const served = slots.map((slot) =>
      budget.use(heldBytes(bytesOf(slot)), () => serveSlot(marker, slot, serving, step)),
    );
    for (const result of await Promise.allSettled(served))
      if (result.status === 'rejected') throw result.reason;
    if (hasSpilled) await step('forget-spills', () => deps.spills.forget(slots, [job]));
  };
}

const namesOf = (devices: Devices) =>
  canonicalForms(asBytes(devices.words)).map((form) => form.replaceAll('-', ''));
