/** Every fault point of the pipeline, by stage: tests kill a process at each of them. */
import type { StageName } from '../schemas/stages.ts';
import { pointsOf } from './engine/fault-points.ts';
import { setPoints } from './sets/fault-points.ts';
import { dispatchSteps } from './stages/dispatch/steps.ts';
import { sinkSteps } from './stages/sink/steps.ts';
import { splitSteps } from './stages/split/steps.ts';
import { validateSteps } from './stages/validate/steps.ts';

/** `offsets` is the offset commit of the consume loop. */
export const faultPoints = {
  dispatch: pointsOf('dispatch', [...dispatchSteps, 'offsets']),
  split: pointsOf('split', [...splitSteps, 'offsets']),
  validate: pointsOf('validate', [...validateSteps, 'offsets']),
  sink: [...pointsOf('sink', [...sinkSteps, 'offsets']), ...setPoints],
} satisfies Record<StageName, string[]>;
