/**
 * Refuses an import that may change more attributes in one slot than a manifest and an ack can hold. Checked before the decision, because a
 * failing merge would be too late. The real number is known only at the merge, so this checks the maximum.
 */
import type { JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { SlotTotal } from '../../../../schemas/topics.ts';
import type { AttributeStore } from '../../../stores/attributes.ts';
import type { DispatchStep } from '../steps.ts';

/** Their counts take at most 6 MB (formats/number-table.ts) of the 16 MB of a document. */
export const MAX_ATTRIBUTES = 1_000_000;

export type LimitAttributes = ReturnType<typeof createLimitAttributes>;

export function createLimitAttributes({ attributes }: { attributes: Pick<AttributeStore, 'countFor'> }) {
  /** `totals`: by slot. */
  return async (
    job: JobDocument,
    totals: readonly SlotTotal[],
    step: DispatchStep,
  ): Promise<JobError | undefined> => {
    // Cheap checks first: each attribute takes a number of the sequence and at least one pair.
    const isSmall = totals.every(({ pairs }) => pairs <= MAX_ATTRIBUTES);
    if (job.kind !== 'import' || isSmall || job.attributesAsOf <= MAX_ATTRIBUTES) return undefined;
    const max = MAX_ATTRIBUTES + 1;
    const count = await step.read('count the attributes', () => attributes.countFor(job, max));
    if (count <= MAX_ATTRIBUTES) return undefined;
    const limit = MAX_ATTRIBUTES.toLocaleString('en');
    const message = `The job may change more than ${limit} attributes at once: load its files in several jobs.`;
    return { code: 'too_many_attributes', message };
  };
}
