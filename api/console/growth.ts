/** Growth of an audience: new devices, devices already in it, and rejected rows by load. */
import type { Load } from '../client/types.ts';
import { totalRejects } from './funnel.ts';

export interface GrowthPoint {
  load: number;
  at: string;
  devices: number;
  added: number;
  repeated: number;
  rejected: number;
}

/** Ended loads, oldest first, without cleared ones. */
export function growthOf(loads: Load[]): GrowthPoint[] {
  return loads
    .filter((load) => !load.cleared && load.audience_devices !== null && load.new_devices !== null)
    .map((load) => ({
      load: load.load_id,
      at: load.updated_at,
      devices: load.audience_devices!,
      added: load.new_devices!,
      repeated: repeatedDevices(load)!,
      rejected: totalRejects(load.rows_rejected ?? {}),
    }))
    .sort((a, b) => a.load - b.load);
}

/** Devices of the load already in the audience; null until the load has ended. */
export const repeatedDevices = ({ new_devices, unique_devices }: Load): number | null =>
  new_devices === null ? null : Math.max(0, unique_devices - new_devices);
