/** A change of one slot, as a sink describes it. */
import type { SlotTarget } from '../../pipeline/sets/edit-slot.ts';

interface OneJob extends Pick<SlotTarget, 'space' | 'slot'>, Partial<Pick<SlotTarget, 'endedBefore'>> {
  job: number;
  partner?: string;
  /** Every job up to this one is acknowledged. */
  since?: number;
  /** The space that a load looks up matches in. */
  matchIn?: string;
}

/** A change by one job. By default all jobs before it are acknowledged. */
export function slotTarget({ job, partner = 'p', since = job - 1, endedBefore = 0, ...rest }: OneJob) {
  return { ...rest, endedBefore, jobs: [{ job, partner }], isOpen: (number: number) => number > since };
}
