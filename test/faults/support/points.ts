import { apiPoints, type webhookPoints } from '../../../api/jobs/fault-points.ts';
import { faultPoints as ofStages } from '../../../pipeline/fault-points.ts';

export const faultPoints = { api: apiPoints, ...ofStages };
export type FaultPoint =
  | (typeof faultPoints)[keyof typeof faultPoints][number]
  | (typeof webhookPoints)[number];

/** FAULT_POINTS=all, or a list (FAULT_POINTS=sink:before-ack,…); by default a few, for a short round. */
export function pointsOf(all: readonly FaultPoint[], few: () => FaultPoint[]): readonly FaultPoint[] {
  const wanted = process.env.FAULT_POINTS;
  if (wanted === 'all') return all;
  return wanted ? (wanted.split(',') as FaultPoint[]) : few();
}

/** A skipped message may be a redelivery of an ended job, which is no loss; skipping ten in a row loses at least one for good. */
const lossOfDevices = Array.from({ length: 10 }, (_, n) => `validate:before-devices:${n + 1}:skip`);

/** Arms a point for the first time that it is reached. A job starts another attempt only after it has lost messages. */
export const orderAt = (point: FaultPoint, action: 'kill' | 'stop'): string =>
  [...(/-attempt$/.test(point) ? lossOfDevices : []), `${point}:1:${action}`].join(',');
