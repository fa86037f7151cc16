/** The events of a report: turns devices by event number into devices and rows by event name. */

import { StaleRead } from '../../../pipeline/stores/bulk.ts';
import { NO_EVENT_NUMBER, OTHER_NUMBER } from '../../../pipeline/stores/event-values.ts';
import type { Stores } from '../../../pipeline/stores/stores.ts';

export interface NamedEvent {
  event: string;
  devices: number;
  rows: number;
}

interface EventsOf {
  audience: number;
  generation: number;
  /** The last load included. */
  loadedBy: number;
}

/** Devices without any event, and rows without one. */
const NO_EVENT = '(no event)';

const inOrder = (a: string, b: string) => (a < b ? -1 : 1);

export function createNameEvents({ eventValues, files }: Pick<Stores, 'eventValues' | 'files'>) {
  /** Rows of events without a number count as "other", like their devices: there may be any number of such events. */
  async function countRows(
    { audience, generation, loadedBy }: EventsOf,
    numbers: ReadonlyMap<string, number>,
  ): Promise<Map<number, number>> {
    const byNumber = new Map<number, number>();
    for await (const { event, rows } of files.rowsByEvent(audience, generation, loadedBy)) {
      const number = event === '' ? NO_EVENT_NUMBER : (numbers.get(event) ?? OTHER_NUMBER);
      byNumber.set(number, (byNumber.get(number) ?? 0) + rows);
    }
    return byNumber;
  }

  /** Empty if no device has an event. */
  return async (of: EventsOf, devices: ReadonlyMap<number, number>): Promise<NamedEvent[]> => {
    if ([...devices.keys()].every((number) => number === NO_EVENT_NUMBER)) return [];
    const values = await eventValues.valuesOf(of.audience, of.generation);
    const rows = await countRows(of, new Map([...values].map(([number, value]) => [value, number])));
    values.set(NO_EVENT_NUMBER, NO_EVENT);
    return [...devices]
      .map(([number, count]) => {
        const event = values.get(number);
        if (event === undefined)
          throw new StaleRead(`event ${number} of audience ${of.audience} is not visible yet`);
        return { event, devices: count, rows: rows.get(number) ?? 0 };
      })
      .sort((a, b) => b.devices - a.devices || inOrder(a.event, b.event));
  };
}
