/** The fault points of a DROP session, in order: a test kills it at each of them. */
import { type Reach, faultPoint as reach } from '../../pipeline/engine/fault-points.ts';

export const dropPoints = [
  'drop:after-amendment',
  'drop:after-amend-post',
  'drop:after-begin',
  'drop:before-store',
  'drop:after-store',
  'drop:before-read',
  'drop:after-read',
  'drop:after-list',
  'drop:after-mark',
  'drop:after-remove',
  'drop:after-delete',
  'drop:before-post',
  'drop:after-post',
  'drop:after-accept',
  'drop:after-complete',
] as const;
export const faultPoint: Reach<(typeof dropPoints)[number]> = reach;
