import { apiPoints, type webhookPoints } from '../../../api/jobs/fault-points.ts';
import { faultPoints as ofStages } from '../../../pipeline/fault-points.ts';

export const faultPoints = { api: apiPoints, ...ofStages };
export type FaultPoint =
  | (typeof faultPoints)[keyof typeof faultPoints][number]
  | (typeof webhookPoints)[number];

/** FAULT_POINTS=all, or FAULT_POINTS=sink:before-ack,… those; else a few, for a short round. */
export function pointsOf(all: readonly FaultPoint[], few: () => FaultPoint[]): readonly FaultPoint[] {
  const wanted = process.env.FAULT_POINTS;
  if (wanted === 'all') return all;
  return wanted ? (wanted.split(',') as FaultPoint[]) : few();
}

/** A message that is sent once more may be of a job that has ended: so many are lost that one of them is missed. */
const lossOfDevices = Array.from({ length: 10 }, (_, n) => `validate:before-devices:${n + 1}:skip`);

/** What arms a point, the first time that it is reached. A job is attempted again only after something of it was lost. */
export const orderAt = (point: FaultPoint, action: 'kill' | 'stop'): string =>
  [...(/-attempt$/.test(point) ? lossOfDevices : []), `${point}:1:${action}`].join(',');
