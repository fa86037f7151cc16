/** Limits the memory of one assignment's uncommitted devices: they are spilled to MongoDB until their jobs are merged. */
import type { DeviceHash } from '../../formats/device-hash.ts';
import { unlessAborted } from '../../runtime/deadline.ts';
import type { Logger } from '../../runtime/log.ts';
import type { SpillStore } from '../../stores/spills.ts';
import { SMALL_BYTES } from './merge-jobs.ts';
import type { SinkStep } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

export interface MemoryDependencies {
  log: Logger;
  spills: Pick<SpillStore, 'save'>;
  hashDevice: DeviceHash;
  memoryBytes: number;
  onSpilled(bytes: number): void;
}

/** Devices that wait longer for their merge are spilled: a job that waits for an operator must not hold back offset commits. */
const MAX_HELD_MS = 10 * 60_000;
/** Reading pauses when memory exceeds its limit by this factor, until a spill is written. */
const EXCESS = 1.25;

/** One partition's devices. */
export type HeldDevices = ReturnType<SinkMemory['hold']>;
export type SinkMemory = ReturnType<typeof createSinkMemory>;

export function createSinkMemory(deps: MemoryDependencies, step: SinkStep) {
  const held: Uncommitted[] = [];
  const heldBytes = () => held.reduce((total, { bytes }) => total + bytes, 0);

  /** `isBusy`: the job is being verified or merged, so it must not be spilled. */
  function hold(uncommitted: Uncommitted, isBusy: (job: number) => boolean) {
    held.push(uncommitted);
    /** Reading the partition continues meanwhile. If it fails, so does everything that waits for it. */
    let spilling: Promise<void> | undefined;

    const isFull = () => {
      const total = heldBytes();
      // A small share is not worth a write: the partition with the largest share spills at its next message.
      return total >= deps.memoryBytes && uncommitted.bytes * held.length * 2 >= total;
    };
    const isDue = () => isFull() || uncommitted.heldForMs() > MAX_HELD_MS;

    async function spill(): Promise<void> {
      const save = (batch: Parameters<SpillStore['save']>[0]) =>
        step('spill', () => deps.spills.save(batch, deps.hashDevice));
      const maySpill = (job: number) => !isBusy(job);
      const isLarge = (job: number) => uncommitted.sizeOf(job) > SMALL_BYTES;
      // Large jobs first: small ones free little memory and would be delayed the most.
      let bytes = await uncommitted.spill((job) => maySpill(job) && isLarge(job), save);
      if (isDue()) bytes += await uncommitted.spill(maySpill, save);
      if (bytes === 0) return;
      deps.onSpilled(bytes);
      deps.log.info({ bytes }, 'devices spilled to MongoDB until their jobs are merged');
    }

    return {
      async spillIfFull(signal: AbortSignal): Promise<void> {
        if (!spilling && isDue()) {
          spilling = spill().then(() => {
            spilling = undefined;
          });
          spilling.catch(() => {});
        }
        if (spilling && heldBytes() >= deps.memoryBytes * EXCESS) await unlessAborted(signal, spilling);
      },
      /** Devices that are being spilled can be read nowhere. */
      async untilReadable(jobs: number[], signal: AbortSignal): Promise<void> {
        if (spilling && jobs.some((job) => uncommitted.isSpilling(job)))
          await unlessAborted(signal, spilling);
      },
    };
  }

  return { heldBytes, hold };
}
