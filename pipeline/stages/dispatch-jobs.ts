/**
 * dispatch: takes jobs in order, a window at a time, and runs each to its end. `jobs` has one partition, so one member of the group is the
 * active dispatcher and the others stand by: being assigned the partition starts a term (dispatch/serve-term.ts), losing it ends the term.
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
    /** Messages are handled one at a time. */
    weigh: () => Number.POSITIVE_INFINITY,
    async handle({ offset, message }) {
      if (message.name === 'AcceptedJob') await term?.deliver(message.value.job, offset);
    },
    committable: (_, handled) => term?.oldestOffset() ?? handled,
    assigned(partitions, step) {
      term = undefined;
      if (partitions.length === 0) return;
      // Every job in flight adds a listener.
      setMaxListeners(0, step.signal);
      term = createTerm(deps, step);
    },
  };
}
