/** Fault points inside a merge, which only the sink runs. */
import { faultPoint, pointsOf, type Reach } from '../engine/fault-points.ts';

export const setPoints = pointsOf('sink', ['pages', 'manifest', 'outcome']);
export const setPoint: Reach<(typeof setPoints)[number]> = faultPoint;
