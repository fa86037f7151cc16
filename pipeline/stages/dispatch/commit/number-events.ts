/**
 * Gives the event values of loads their numbers, before the loads are merged. Called with jobs in their order, so that which values an
 * audience keeps follows from its loads alone, and is the same after any crash.
 */
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import { inGroupsAsync, within } from '../../../runtime/in-groups.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';

/** A file has up to 1,000 values. */
const FILES_AT_ONCE = 100;

export type NumberEvents = ReturnType<typeof createNumberEvents>;

export function createNumberEvents({ files, eventValues }: Pick<Stores, 'files' | 'eventValues'>) {
  async function numberLoad({ audience, generation, listing }: JobDocument): Promise<void> {
    for await (const some of inGroupsAsync(files.eventsOf(listing!), within({ count: FILES_AT_ONCE }))) {
      const values = some.flatMap(({ events }) => events.map(({ event }) => event));
      if (!(await eventValues.assign(audience!, generation!, values))) return;
    }
  }

  /** At the same time: no two loads of one audience are decided before the first has ended. */
  return async (jobs: JobDocument[], step: DispatchStep): Promise<void> => {
    const loads = jobs.filter((job) => job.verdict?.hasEvents);
    await Promise.all(loads.map((load) => step('number-events', () => numberLoad(load))));
  };
}
