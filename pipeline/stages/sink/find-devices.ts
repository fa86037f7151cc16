/** Finds the keys of a privacy request's devices in a slot, in every space that the request may see. */
import { spaces } from '../../../schemas/documents.ts';
import { EVERYONE } from '../../../schemas/job-documents.ts';
import type { JobMarker } from '../../../schemas/topics.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import type { DeviceSets, LookedPages } from '../../sets/device-sets.ts';
import type { Devices } from '../../sets/devices.ts';
import type { AttributeStore } from '../../stores/attributes.ts';
import type { AudienceStore } from '../../stores/audiences.ts';
import type { SinkStep } from './steps.ts';

interface Dependencies {
  sets: Pick<DeviceSets, 'look' | 'holders'>;
  audiences: Pick<AudienceStore, 'spacesOf' | 'currentAmong'>;
  attributes: Pick<AttributeStore, 'ownedAmong'>;
}

/** The request's devices in one slot. */
export interface WantedDevices {
  marker: JobMarker;
  slot: number;
  devices: Devices;
  /** Keeps the pages in which they are found. */
  looked?: LookedPages;
}

const SPACES_AT_ONCE = 5_000;
const AUDIENCES_AT_ONCE = 8;

export const isForAll = ({ partner }: JobMarker): boolean => partner === EVERYONE;

export function createFindDevices({ sets, audiences, attributes }: Dependencies) {
  /** Their attributes that the request may see. */
  async function findAttributes({ marker, slot, devices, looked }: WantedDevices, step: SinkStep) {
    const found = await step.read('look up the marketplace', () =>
      sets.look({ space: spaces.marketplace, slot }, devices, looked),
    );
    if (isForAll(marker)) return found;
    const keys = [...new Set([...found.values()].flat())];
    const owned = await step.read("find the partner's attributes", () =>
      attributes.ownedAmong(marker.partner, keys),
    );
    const own = [...found].map(([n, all]) => [n, all.filter((key) => owned.has(key))] as const);
    return new Map(own.filter(([, keys]) => keys.length > 0));
  }

  /** The spaces of audiences that may hold them. */
  async function findAudiences({ marker, slot, devices }: WantedDevices, step: SinkStep): Promise<string[]> {
    const found: string[] = [];
    if (isForAll(marker)) {
      const holders = await step.read('search all audiences', () => sets.holders({ slot }, devices));
      for (const group of inGroups(holders, within({ count: SPACES_AT_ONCE })))
        found.push(...(await step.read('find current audiences', () => audiences.currentAmong(group))));
      return found;
    }
    for await (const own of audiences.spacesOf(marker.partner, SPACES_AT_ONCE)) {
      const search = () => sets.holders({ slot, spaces: own }, devices);
      found.push(...(await step.read("search the partner's audiences", search)));
    }
    return found;
  }

  async function lookAmong(among: string[], { slot, devices, looked }: WantedDevices) {
    const looking = among.map(async (space) => {
      return { space, found: await sets.look({ space, slot }, devices, looked) };
    });
    return (await Promise.all(looking)).filter(({ found }) => found.size > 0);
  }

  return (wanted: WantedDevices, step: SinkStep) => {
    let searching: Promise<string[]> | undefined;
    /** Space by space: the keys by index of the device. For some of the devices, the audiences are not searched again. */
    return async function* find(devices = wanted.devices) {
      const some = { ...wanted, devices };
      const attributes = await findAttributes(some, step);
      if (attributes.size > 0) yield { space: spaces.marketplace, found: attributes };
      searching ??= findAudiences(wanted, step);
      for (const group of inGroups(await searching, within({ count: AUDIENCES_AT_ONCE })))
        yield* await step.read('look up audiences', () => lookAmong(group, some));
    };
  };
}
