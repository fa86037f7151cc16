import type { FaultPoint } from '../../../pipeline/runtime/fault-points.ts';

/** FAULT_POINTS=all, or FAULT_POINTS=sink:before-ack,… those; else a few, for a short round. */
export function pointsOf(all: readonly FaultPoint[], few: () => FaultPoint[]): readonly FaultPoint[] {
  const wanted = process.env.FAULT_POINTS;
  if (wanted === 'all') return all;
  return wanted ? (wanted.split(',') as FaultPoint[]) : few();
}
