import { setTimeout as sleep } from 'node:timers/promises';
import { isFrozen, type Managed } from '../../support/processes.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Repeats a request until it has frozen the process: on a slow host it may be refused before. `asked` resolves after SIGCONT. */
export async function freezeBy(
  managed: Managed,
  ask: () => Promise<unknown>,
  what: string,
): Promise<{ asked: Promise<void> }> {
  let isDone = false;
  const asked = (async () => {
    while (!isDone) {
      await ask().catch(() => {});
      await sleep(50);
    }
  })();
  try {
    await waitFor(() => isFrozen(managed), { what, everyMs: 10 });
  } finally {
    isDone = true;
  }
  return { asked };
}
