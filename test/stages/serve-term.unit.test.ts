/** What a term of the active dispatcher does beside running jobs. */
import { it } from 'vitest';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep } from '../../pipeline/engine/step.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createTerm, type TermDependencies } from '../../pipeline/stages/dispatch/serve-term.ts';
import { waitFor } from '../support/wait-for.ts';

const chores = ['sweep', 'sweepOrphans', 'expireJobs'];

it('sweeps, the search for orphaned pages and the removal of history do not wait for each other', async () => {
  const log = createLogger({ logLevel: 'silent' }, 'test');
  const ending = new AbortController();
  const begun = new Set<string>();
  const never = (chore: string) => () => {
    begun.add(chore);
    return new Promise<void>(() => {});
  };
  createTerm(
    {
      log,
      jobs: {
        extentInOrder: async () => ({ first: 1, newest: 0 }),
        range: async () => [],
        deferBehindStopped: async () => {},
        deferred: async () => [],
      },
      status: { publishMissed: async () => {} },
      news: { listen() {} },
      onActive() {},
      jobWindow: 1,
      ...Object.fromEntries(chores.map((chore) => [chore, never(chore)])),
    } as unknown as TermDependencies,
    createStep('dispatch', createRetry(log), ending.signal),
    () => {},
  );
  await waitFor(() => begun.size === chores.length, { what: chores.join() });
  ending.abort();
});
