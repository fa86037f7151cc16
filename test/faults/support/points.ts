import type { FaultPoint } from '../../../pipeline/runtime/fault-points.ts';

/** FAULT_POINTS=all, or FAULT_POINTS=sink:before-ack,… those; else a few, for a short round. */
export function pointsOf(all: readonly FaultPoint[], few: () => FaultPoint[]): readonly FaultPoint[] {
  const wanted = process.env.FAULT_POINTS;
  if (wanted === 'all') return all;
  return wanted ? (wanted.split(',') as FaultPoint[]) : few();
}

/** What arms a point, the first time that it is reached. A job is attempted again only after something of it was lost. */
export const orderAt = (point: FaultPoint, action: 'kill' | 'stop'): string =>
  `${/-attempt$/.test(point) ? 'validate:before-devices:1:skip,' : ''}${point}:1:${action}`;
