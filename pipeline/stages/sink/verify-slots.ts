/**
 * Finds the slots that do not hold all of a job: fewer pairs than the ledger counts for them, or others. Whatever was lost on the
 * way, and wherever, shows here, before anything of the job is merged.
 */
import type { CommitMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import { countGroups, isSameTotal } from '../../formats/slot-totals.ts';
import type { Step } from '../../runtime/step.ts';
import type { SpillStore } from '../../stores/spills.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';
import type { Uncommitted } from './uncommitted.ts';

/** What came for a job in a slot: from MongoDB what was spilled, and the rest from memory. */
export async function* collectedOf(
  spills: SpillStore,
  uncommitted: Uncommitted,
  job: number,
  slot: number,
): AsyncGenerator<ValidatedDevices> {
  if (uncommitted.hasSpilled(job)) yield* spills.read(job, slot);
  yield* uncommitted.of(job, slot);
}

interface Dependencies {
  spills: SpillStore;
  verdicts: Pick<VerdictStore, 'passedOf'>;
}

export function createVerifySlots({ spills, verdicts }: Dependencies) {
  async function holdsAll(marker: CommitMarker, slot: number, uncommitted: Uncommitted): Promise<boolean> {
    const isPassed = await verdicts.passedOf(marker);
    const seen = new Set<string>();
    const total = { pairs: 0, checksum: 0 };
    for await (const { file, batch, part, groups } of collectedOf(spills, uncommitted, marker.job, slot)) {
      const name = `${file}.${batch}.${part}`;
      if (!isPassed(file) || seen.has(name)) continue;
      seen.add(name);
      countGroups(total, groups);
    }
    return isSameTotal(total, marker.expected[slot] ?? { pairs: 0, checksum: 0 });
  }

  return async (
    marker: CommitMarker,
    slots: number[],
    uncommitted: Uncommitted,
    step: Step<'sink'>,
  ): Promise<number[]> => {
    const lacking: number[] = [];
    for (const slot of slots) {
      const holds = () => holdsAll(marker, slot, uncommitted);
      if (!(await step.read('count what a slot holds', holds))) lacking.push(slot);
    }
    return lacking;
  };
}
