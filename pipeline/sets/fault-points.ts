/** Fault points inside a merge: the sink is their only caller. */
import { faultPoint, pointsOf, type Reach } from '../engine/fault-points.ts';

export const setPoints = pointsOf('sink', ['pages', 'manifest', 'outcome']);
export const setPoint: Reach<(typeof setPoints)[number]> = faultPoint;
