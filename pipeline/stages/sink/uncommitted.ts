/** Devices of jobs that are not merged yet, in the order in which they came, of one partition. */
import type { ValidatedDevices } from '../../../schemas/topics.ts';
import { batchesIn } from '../../wire/devices-codec.ts';

export interface Uncommitted {
  readonly bytes: number;
  add(devices: ValidatedDevices, offset: bigint): void;
  of(job: number, slot: number): ValidatedDevices[];
  bytesOf(job: number, slot: number): number;
  /** Where the oldest of them stands in the partition, if any is left. */
  oldestOffset(): bigint | undefined;
  /** Hands everything to `save`, a job and slot at a time, and forgets it. Gives the number of bytes. */
  spill(
    save: (batch: { job: number; slot: number; devices: ValidatedDevices[] }) => Promise<void>,
  ): Promise<number>;
  /** Whether some of the job's devices are in MongoDB instead, from this time of ownership or an earlier one. */
  hasSpilled(job: number): boolean;
  /** The slot has merged the jobs. */
  forgetSlot(slot: number, upToJob: number): void;
  forgetUpTo(job: number): void;
}

interface JobDevices {
  firstOffset: bigint;
  slots: Map<number, { devices: ValidatedDevices[]; bytes: number }>;
}

/** What a message costs beside its devices. */
const OVERHEAD = 200;

/** The message's bytes are a view into everything that was fetched with it: what is kept is copied, all of a message into one buffer. */
function copyOf({ groups, more = [], ...message }: ValidatedDevices): ValidatedDevices {
  const all = [groups, ...more.map((other) => other.groups)].flat();
  const copy = new Uint8Array(all.reduce((sum, { devices }) => sum + devices.length, 0));
  let end = 0;
  const keep = (some: ValidatedDevices['groups']) =>
    some.map(({ key, devices }) => {
      copy.set(devices, end);
      end += devices.length;
      return { key, devices: copy.subarray(end - devices.length, end) };
    });
  return {
    ...message,
    groups: keep(groups),
    more: more.map((other) => ({ ...other, groups: keep(other.groups) })),
  };
}

export function createUncommitted(spilledEarlier: Iterable<number> = []): Uncommitted {
  const spilled = new Set(spilledEarlier);
  const jobs = new Map<number, JobDevices>();
  let bytes = 0;

  function drop(job: number): void {
    for (const slot of jobs.get(job)?.slots.values() ?? []) bytes -= slot.bytes;
    jobs.delete(job);
  }

  return {
    get bytes() {
      return bytes;
    },
    add(devices, offset) {
      let job = jobs.get(devices.job);
      if (!job) {
        job = { firstOffset: offset, slots: new Map() };
        jobs.set(devices.job, job);
      }
      let slot = job.slots.get(devices.slot);
      if (!slot) {
        slot = { devices: [], bytes: 0 };
        job.slots.set(devices.slot, slot);
      }
      for (const batch of batchesIn(copyOf(devices))) {
        const size = batch.groups.reduce((sum, group) => sum + group.devices.length + OVERHEAD, OVERHEAD);
        slot.devices.push(batch);
        slot.bytes += size;
        bytes += size;
      }
    },
    of: (job, slot) => jobs.get(job)?.slots.get(slot)?.devices ?? [],
    bytesOf: (job, slot) => jobs.get(job)?.slots.get(slot)?.bytes ?? 0,
    oldestOffset() {
      let oldest: bigint | undefined;
      for (const { firstOffset } of jobs.values()) {
        if (oldest === undefined || firstOffset < oldest) oldest = firstOffset;
      }
      return oldest;
    },
    async spill(save) {
      const before = bytes;
      for (const [job, { slots }] of [...jobs]) {
        spilled.add(job);
        for (const [slot, { devices }] of slots) await save({ job, slot, devices });
        drop(job);
      }
      return before - bytes;
    },
    hasSpilled: (job) => spilled.has(job),
    forgetSlot(slot, last) {
      for (const [number, job] of jobs) {
        if (number > last) continue;
        bytes -= job.slots.get(slot)?.bytes ?? 0;
        job.slots.delete(slot);
      }
    },
    forgetUpTo(last) {
      for (const job of spilled) if (job <= last) spilled.delete(job);
      for (const job of [...jobs.keys()]) if (job <= last) drop(job);
    },
  };
}
