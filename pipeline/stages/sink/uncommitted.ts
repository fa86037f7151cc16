/** Devices of uncommitted jobs of one partition, in arrival order. */
import type { ValidatedDevices } from '../../../schemas/topics.ts';
import { batchesIn, decodeDevices, encodeDevices } from '../../wire/devices-codec.ts';

export interface Uncommitted {
  readonly bytes: number;
  add(devices: ValidatedDevices, offset: bigint): void;
  of(job: number, slot: number): Iterable<ValidatedDevices>;
  bytesOf(job: number, slot: number): number;
  /** Bytes of all slots. Infinity for a job that has spilled: its size is unknown here, and large. */
  sizeOf(job: number): number;
  /** Offset of the oldest message, if any. */
  oldestOffset(): bigint | undefined;
  /**
   * Passes everything held of these jobs to `save`, one job and slot at a time, and forgets it. Returns the number of bytes. Messages that
   * arrive meanwhile stay. One spill at a time.
   */
  spill(
    isWanted: (job: number) => boolean,
    save: (batch: { job: number; slot: number; devices: ValidatedDevices[] }) => Promise<void>,
  ): Promise<number>;
  /** Whether some of the job's devices are in MongoDB, spilled by this owner or an earlier one. */
  hasSpilled(job: number): boolean;
  /** Whether some are being spilled: until that is done they can be read nowhere. */
  isSpilling(job: number): boolean;
  /** How long the oldest message has been in memory. */
  heldForMs(): number;
  /** The slot has merged the jobs. */
  forgetSlot(slot: number, jobs: readonly number[]): void;
  forget(jobs: readonly number[]): void;
}

interface JobDevices {
  firstOffset: bigint;
  since: number;
  slots: Map<number, SlotDevices>;
}

interface SlotDevices {
  /** Encoded: as objects, small batches would take ten times the memory. */
  messages: Buffer[];
  bytes: number;
}

/** Memory per message besides its devices. */
const OVERHEAD = 200;
const NO_HEADER = Buffer.alloc(0);

function* batchesOf(messages: Buffer[]): Generator<ValidatedDevices> {
  for (const bytes of messages) yield* batchesIn(decodeDevices(bytes));
}

function bytesIn(job: JobDevices | undefined): number {
  let total = 0;
  for (const { bytes } of job?.slots.values() ?? []) total += bytes;
  return total;
}

export function createUncommitted(spilledEarlier: Iterable<number> = []): Uncommitted {
  const spilled = new Set(spilledEarlier);
  const jobs = new Map<number, JobDevices>();
  const spilling = new Map<number, JobDevices>();
  let bytes = 0;

  function drop(from: Map<number, JobDevices>, job: number): void {
    bytes -= bytesIn(from.get(job));
    from.delete(job);
  }

  return {
    get bytes() {
      return bytes;
    },
    add(devices, offset) {
      let job = jobs.get(devices.job);
      if (!job) {
        job = { firstOffset: offset, since: performance.now(), slots: new Map() };
        jobs.set(devices.job, job);
      }
      let slot = job.slots.get(devices.slot);
      if (!slot) {
        slot = { messages: [], bytes: 0 };
        job.slots.set(devices.slot, slot);
      }
      // A copy, because the message is a view into the whole fetch response.
      const encoded = encodeDevices(NO_HEADER, devices);
      const size = encoded.length + OVERHEAD;
      slot.messages.push(encoded);
      slot.bytes += size;
      bytes += size;
    },
    of: (job, slot) => batchesOf(jobs.get(job)?.slots.get(slot)?.messages ?? []),
    bytesOf: (job, slot) => jobs.get(job)?.slots.get(slot)?.bytes ?? 0,
    sizeOf: (job) => (spilled.has(job) ? Number.POSITIVE_INFINITY : bytesIn(jobs.get(job))),
    oldestOffset() {
      let oldest: bigint | undefined;
      for (const { firstOffset } of [...jobs.values(), ...spilling.values()]) {
        if (oldest === undefined || firstOffset < oldest) oldest = firstOffset;
      }
      return oldest;
    },
    async spill(isWanted, save) {
      let total = 0;
      for (const [job, devices] of [...jobs]) {
        if (!isWanted(job)) continue;
        spilled.add(job);
        spilling.set(job, devices);
        jobs.delete(job);
        total += bytesIn(devices);
      }
      for (const [job, { slots }] of spilling) {
        for (const [slot, { messages }] of slots)
          await save({ job, slot, devices: [...batchesOf(messages)] });
        drop(spilling, job);
      }
      return total;
    },
    hasSpilled: (job) => spilled.has(job),
    isSpilling: (job) => spilling.has(job),
    heldForMs() {
      const oldest = jobs.values().next();
      return oldest.done ? 0 : performance.now() - oldest.value.since;
    },
    forgetSlot(slot, merged) {
      for (const number of merged) {
        const job = jobs.get(number);
        bytes -= job?.slots.get(slot)?.bytes ?? 0;
        job?.slots.delete(slot);
      }
    },
    forget(merged) {
      for (const job of merged) {
        spilled.delete(job);
        drop(jobs, job);
      }
    },
  };
}
