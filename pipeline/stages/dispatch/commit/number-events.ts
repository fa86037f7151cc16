/**
 * Numbers the event values of loads before they are merged. Called with jobs in order, so which values an audience keeps depends only on
 * its loads and survives any crash.
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
    for await (const group of inGroupsAsync(files.eventsOf(listing!), within({ count: FILES_AT_ONCE }))) {
      const values = group.flatMap(({ events }) => events.map(({ event }) => event));
      if (!(await eventValues.assign(audience!, generation!, values))) return;
    }
  }

  /** Safe to run concurrently: a load is decided only after the previous load of its audience has ended. */
  return async (jobs: JobDocument[], step: DispatchStep): Promise<void> => {
    const loads = jobs.filter((job) => job.verdict?.hasEvents);
    await Promise.all(loads.map((load) => step('number-events', () => numberLoad(load))));
  };
}
