/** A `step` that retries like the real one and records the names of completed steps in order. */

import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep, type Step } from '../../pipeline/engine/step.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import type { StageName } from '../../schemas/stages.ts';

export function recordedStep(stage: StageName, actions: string[] = []): Step {
  const retry = createRetry(createLogger({ logLevel: 'silent' }, 'test'));
  const step = createStep(stage, retry, new AbortController().signal);
  const recorded = async <T>(name: string, work: () => Promise<T>) => {
    const result = await step(name, work);
    actions.push(name);
    return result;
  };
  return Object.assign(recorded, {
    ...step,
    until: () => recorded as Step,
    whileWanted: <T>(what: string, isWanted: () => Promise<boolean>, work: (step: Step) => Promise<T>) =>
      step.whileWanted(what, isWanted, () => work(recorded as Step)),
  }) as Step;
}
