/**
 * dispatch: takes jobs in the order of their numbers, a window of them at a time, and runs each to its end. The jobs topic has one
 * partition, so one consumer of the group is the active dispatcher and the others stand by: to be assigned the partition begins a
 * term (dispatch/serve-term.ts), to lose it ends the term.
 */
import { setMaxListeners } from 'node:events';
import type { Stage } from '../engine/stage.ts';
import { linkedAbort } from '../runtime/deadline.ts';
import { createTerm, type Term, type TermDependencies } from './dispatch/serve-term.ts';
import type { DispatchStep, DispatchStepName } from './dispatch/steps.ts';

export function createDispatchJobs(deps: TermDependencies): Stage<DispatchStepName> {
  let term: Term | undefined;

  /** A stopped job ends the term: the next one defers the jobs behind it, and goes on with the others as a successor would. */
  function begin(assignment: DispatchStep): void {
    const { controller, unlink } = linkedAbort(assignment.signal);
    // Every job in flight listens to it.
    setMaxListeners(0, controller.signal);
    const own = createTerm(deps, assignment.until(controller.signal), () => {
      if (controller.signal.aborted) return;
      unlink();
      controller.abort(new Error('stopping'));
      const delivered = [...own.inFlight()];
      begin(assignment);
      for (const [job, offset] of delivered) term!.deliver(job, offset).catch(() => {});
    });
    term = own;
  }

  async function deliver(job: number, offset: bigint): Promise<void> {
    for (let own = term; own; ) {
      try {
        return await own.deliver(job, offset);
      } catch (error) {
        if (own === term) throw error;
        own = term;
      }
    }
  }

  return {
    name: 'dispatch',
    input: 'jobs',
    /** One after the other. */
    weigh: () => Number.POSITIVE_INFINITY,
    async handle({ offset, message }) {
      if (message.name === 'AcceptedJob') await deliver(message.value.job, offset);
    },
    committable: (_, handled) => term?.oldestOffset() ?? handled,
    assigned(partitions, step) {
      term = undefined;
      if (partitions.length > 0) begin(step);
    },
  };
}
