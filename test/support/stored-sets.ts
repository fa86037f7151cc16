/** The stored sets as plain Sets: of an attribute, an audience, or an event. */
import type { Db } from 'mongodb';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { firstKey } from '../../pipeline/sets/devices.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { spaces } from '../../schemas/documents.ts';

/** Names of plain sets. */
export const setNames = {
  attribute: (attribute: number) => `attribute:${attribute}`,
  audience: (audience: number, generation: number) => `audience:${audience}:g${generation}`,
  event: (audience: number, generation: number, event: string) =>
    `audience:${audience}:g${generation}:event:${event}`,
};

export function createStoredSets(db: Db) {
  const sets = createDeviceSets(db);
  const { slotCount } = createCounterStore(db);
  const eventValues = createEventValueStore(db);

  /** Every non-empty set of a space: by attribute; or the audience itself and one set per event. */
  async function setsIn(
    space: string,
    nameOf: (key: number) => string,
    own?: string,
  ): Promise<Map<string, Set<string>>> {
    const found = new Map<string, Set<string>>();
    const add = (set: string, device: string) => {
      const members = found.get(set) ?? new Set<string>();
      found.set(set, members.add(device));
    };
    const slots = await slotCount();
    for (let slot = 0; slot < slots; slot++) {
      for await (const devices of sets.read(space, slot)) {
        const bytes = Buffer.from(devices.words.buffer, devices.words.byteOffset, devices.words.byteLength);
        for (let n = 0; n < devices.count; n++) {
          const device = bytes.toString('hex', n * 16, n * 16 + 16);
          if (own !== undefined) add(own, device);
          for (let at = firstKey(devices, n); at < devices.ends[n]!; at++)
            add(nameOf(devices.keys[at]!), device);
        }
      }
    }
    return found;
  }

  async function ofAudience(audience: number, generation: number): Promise<Map<string, Set<string>>> {
    const values = await eventValues.valuesOf(audience, generation);
    const nameOf = (key: number) => setNames.event(audience, generation, values.get(key) ?? `number ${key}`);
    const own = setNames.audience(audience, generation);
    return setsIn(spaces.audience(audience, generation), nameOf, own);
  }

  /** All non-empty sets of the set's space: of an audience, the audience and its events. */
  async function withEvents(set: string): Promise<Map<string, Set<string>>> {
    const [, audience, generation] = /^audience:(\d+):g(\d+)/.exec(set) ?? [];
    if (audience) return ofAudience(Number(audience), Number(generation));
    return setsIn(spaces.marketplace, setNames.attribute);
  }

  const members = async (set: string) => (await withEvents(set)).get(set) ?? new Set<string>();

  return {
    members,
    count: async (set: string): Promise<number> => (await members(set)).size,

    /** The same for many sets and the audiences' events; only non-empty sets. */
    async membersOf(names: string[]): Promise<Map<string, Set<string>>> {
      const found = new Map<string, Set<string>>();
      const attributes = new Set(names.filter((name) => name.startsWith('attribute:')));
      if (attributes.size > 0) {
        for (const [name, own] of await setsIn(spaces.marketplace, setNames.attribute))
          if (attributes.has(name)) found.set(name, own);
      }
      for (const name of names.filter((one) => !attributes.has(one)))
        for (const [set, own] of await withEvents(name)) if (set.startsWith(name)) found.set(set, own);
      return found;
    },
  };
}
