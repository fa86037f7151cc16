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

/** Axes have round steps. */
const ROUND = [1, 2, 2.5, 5, 10];

/** Zero and up to `count` round steps; the last is at least `max`. */
export function ticksUpTo(max: number, count = 4): number[] {
  const rough = Math.max(1, max) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.ceil(ROUND.find((factor) => factor * power >= rough)! * power);
  const steps = Math.max(1, Math.ceil(max / step));
  return Array.from({ length: steps + 1 }, (_, i) => i * step);
}

/** Labels every nth point, so that each label has this much space. */
export const labelEvery = (points: number, width: number, space: number): number =>
  Math.max(1, Math.ceil((points * space) / Math.max(1, width)));
