/**
 * dispatch: takes jobs in the order of their numbers, a window of them at a time, and runs each to its end. The jobs topic has one
 * partition, so one consumer of the group is the active dispatcher and the others stand by: to be assigned the partition begins a
 * term (dispatch/serve-term.ts), to lose it ends the term.
 */
import { setMaxListeners } from 'node:events';
import type { Stage } from '../engine/stage.ts';
import { createTerm, type Term, type TermDependencies } from './dispatch/serve-term.ts';
import type { DispatchStepName } from './dispatch/steps.ts';

export function createDispatchJobs(deps: TermDependencies): Stage<DispatchStepName> {
  let term: Term | undefined;

  return {
    name: 'dispatch',
    input: 'jobs',
    /** One after the other. */
    weigh: () => Number.POSITIVE_INFINITY,
    async handle({ offset, message }) {
      if (message.name === 'AcceptedJob') await term?.deliver(message.value.job, offset);
    },
    committable: (_, handled) => term?.oldestOffset() ?? handled,
    assigned(partitions, step) {
      term = undefined;
      if (partitions.length === 0) return;
      // Every job in flight listens to it.
      setMaxListeners(0, step.signal);
      term = createTerm(deps, step);
    },
  };
}
