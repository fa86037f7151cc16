/** The steps of the sink, roughly in order. */
import { faultPoint, type PointOf, type Reach } from '../../engine/fault-points.ts';
import type { Step } from '../../engine/step.ts';

export const sinkSteps = [
  'spill',
  'vote',
  'merge',
  'gather',
  'ack',
  'forget-spills',
  'remove-keys',
  'suppress',
  'fence',
  'keep-result',
  'erase',
  'erase-rows',
  'drop',
] as const;
export type SinkStepName = (typeof sinkSteps)[number];
export type SinkStep = Step<SinkStepName>;

/** For fault points inside a step. */
export const sinkPoint: Reach<PointOf<'sink', SinkStepName>> = faultPoint;
