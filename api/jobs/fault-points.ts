/** The fault points of the API; those of webhooks are reached only if there are webhooks. */
import { type Reach, faultPoint as reach } from '../../pipeline/engine/fault-points.ts';

export const apiPoints = [
  'api:after-claim',
  'api:before-insert',
  'api:after-insert',
  'api:after-publish',
  'api:before-answer',
  'api:after-keep-answer',
  'api:before-change',
  'api:after-change',
] as const;
export const webhookPoints = [
  'webhooks:before-record',
  'webhooks:after-record',
  'webhooks:after-pass',
  'webhooks:before-post',
  'webhooks:after-post',
  'webhooks:after-finish',
] as const;
export const faultPoint: Reach<(typeof apiPoints | typeof webhookPoints)[number]> = reach;
