/** A change of one slot, as a sink describes it. */
import type { SlotTarget } from '../../pipeline/sets/edit-slot.ts';

interface OneJob extends Pick<SlotTarget, 'space' | 'slot'>, Partial<Pick<SlotTarget, 'endedBefore'>> {
  job: number;
  partner?: string;
  /** Everything up to this job is acknowledged. */
  since?: number;
  /** Where a load looks for matches. */
  matchIn?: string;
}

/** One job. The jobs before it are acknowledged, unless another is named. */
export function slotTarget({ job, partner = 'p', since = job - 1, endedBefore = 0, ...rest }: OneJob) {
  return { ...rest, endedBefore, jobs: [{ job, partner }], isOpen: (one: number) => one > since };
}
