/** The rows of a report: names for the attributes and events that were counted by number. */
import { StaleRead } from '../../../pipeline/stores/bulk.ts';
import { NO_EVENT_NUMBER, OTHER_NUMBER } from '../../../pipeline/stores/event-values.ts';
import type { Stores } from '../../../pipeline/stores/stores.ts';
import type { AttributeRow } from './attribute-rows.ts';

/** Devices of the audience that have the attribute. */
type Counted = [attribute: number, devices: number];

export interface CountedAudience {
  partner: string;
  devices: number;
  marketplaceDevices: number;
}

/** Leaves out attributes private to another partner. */
export function createDescribeAttributes({
  attributes,
  attributeDevices,
  partners,
}: Pick<Stores, 'attributes' | 'attributeDevices' | 'partners'>) {
  return async (
    counted: readonly Counted[],
    { partner, devices, marketplaceDevices }: CountedAudience,
  ): Promise<AttributeRow[]> => {
    const ids = counted.map(([id]) => id);
    const [described, held] = await Promise.all([attributes.describe(ids), attributeDevices.of(ids)]);
    const owners = await partners.namesOf([...new Set([...described.values()].map((one) => one.partner))]);
    return counted.flatMap(([id, common]): AttributeRow[] => {
      const attribute = described.get(id);
      const own = attribute?.partner === partner;
      if (!attribute || (attribute.isPrivate && !own)) return [];
      const share = common / devices;
      return [
        {
          attribute_id: id,
          name: attribute.name,
          owner: owners.get(attribute.partner) ?? '',
          own,
          visibility: attribute.isPrivate ? 'private' : 'public',
          devices: common,
          share,
          // The counts are not one snapshot while a job commits: never show a part larger than the whole.
          index: (100 * share * marketplaceDevices) / Math.max(common, held.get(id) ?? 0),
        },
      ];
    });
  };
}

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
