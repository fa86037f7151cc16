/**
 * Finds slots that do not hold exactly the pairs of a job that the ledger counts for them. Any loss on the way shows here, before anything
 * of the job is merged.
 */
import type { JobMarker } from '../../../schemas/topics.ts';
import { SeenBatches } from '../../formats/seen-batches.ts';
import { addTotal, countGroups, isSameTotal } from '../../formats/slot-totals.ts';
import { nextTurn } from '../../runtime/loop-turn.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import type { SinkStep } from './steps.ts';
import type { Uncommitted } from './uncommitted.ts';

/** A few milliseconds of work. */
const MESSAGES_AT_ONCE = 50;

interface Dependencies {
  spills: SpillStore;
  verdicts: Pick<VerdictStore, 'passedOf'>;
}

export function createVerifySlots({ spills, verdicts }: Dependencies) {
  async function holdsAll(marker: JobMarker, slot: number, uncommitted: Uncommitted): Promise<boolean> {
    const isPassed = await verdicts.passedOf(marker);
    const seen = new SeenBatches();
    const total = { pairs: 0, checksum: 0 };
    const isNew = (message: { file: number; batch: number; part: number }) =>
      isPassed(message.file) && seen.add(message);
    if (uncommitted.hasSpilled(marker.job)) {
      for await (const spilled of spills.totals(marker.job, slot))
        if (isNew(spilled)) addTotal(total, spilled.total);
    }
    let messages = 0;
    for (const message of uncommitted.of(marker.job, slot)) {
      if (isNew(message)) countGroups(total, message.groups);
      // Yield to other jobs.
      if (++messages % MESSAGES_AT_ONCE === 0) await nextTurn();
    }
    return isSameTotal(total, marker.expected[slot] ?? { pairs: 0, checksum: 0 });
  }

  return async (
    marker: JobMarker,
    slots: number[],
    uncommitted: Uncommitted,
    step: SinkStep,
  ): Promise<number[]> => {
    const findMissing = async () => {
      const missing: number[] = [];
      for (const slot of slots) if (!(await holdsAll(marker, slot, uncommitted))) missing.push(slot);
      return missing;
    };
    return step.read('count what the slots hold', findMissing);
  };
}
