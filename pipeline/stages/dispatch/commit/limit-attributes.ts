/**
 * Refuses an import that may change more attributes in one slot than a manifest and an ack have room for. Before it is decided: a merge
 * that fails is too late. How many it changes is only known then, so this goes by what it can change at most.
 */
import type { JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { SlotTotal } from '../../../../schemas/topics.ts';
import type { AttributeStore } from '../../../stores/attributes.ts';
import type { DispatchStep } from '../steps.ts';

/** Their counts take 6 MB at most (formats/number-table.ts), of the 16 MB of a document. */
export const MAX_ATTRIBUTES = 1_000_000;

export type LimitAttributes = ReturnType<typeof createLimitAttributes>;

export function createLimitAttributes({ attributes }: { attributes: Pick<AttributeStore, 'countFor'> }) {
  /** `totals`: what each slot gets. */
  return async (
    job: JobDocument,
    totals: readonly SlotTotal[],
    step: DispatchStep,
  ): Promise<JobError | undefined> => {
    // An attribute takes a number of the sequence, and a pair: hardly ever are there so many of both.
    const isSmall = totals.every(({ pairs }) => pairs <= MAX_ATTRIBUTES);
    if (job.kind !== 'import' || isSmall || job.attributesAsOf <= MAX_ATTRIBUTES) return undefined;
    const most = MAX_ATTRIBUTES + 1;
    const count = await step.read('count the attributes', () => attributes.countFor(job, most));
    if (count <= MAX_ATTRIBUTES) return undefined;
    const limit = MAX_ATTRIBUTES.toLocaleString('en');
    const message = `The job may change more than ${limit} attributes at once: load its files in several jobs.`;
    return { code: 'too_many_attributes', message };
  };
}
