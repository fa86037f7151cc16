/** The steps of dispatch, roughly in order. */
import type { Step } from '../../engine/step.ts';

export const dispatchSteps = [
  'republish',
  'make-audience',
  'listing',
  'listing-page',
  'freeze',
  'forget-lists',
  'mark-running',
  'publish-files',
  'decide-files',
  'progress',
  'cancel',
  'verdict',
  'prepare',
  'attempt',
  'decide',
  'number-events',
  'commit',
  'stop',
  'duplicates',
  'fail-files',
  'audience',
  'suppressed',
  'erased',
  'receipt',
  'forget-list',
  'count-attributes',
  'count-usage',
  'end',
  'status',
  'forget',
] as const;
export type DispatchStepName = (typeof dispatchSteps)[number];
export type DispatchStep = Step<DispatchStepName>;
