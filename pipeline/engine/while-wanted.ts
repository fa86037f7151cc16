/** Aborts work that is no longer wanted, even if it is blocked. Checks every second. */
import { linkedAbort } from '../runtime/deadline.ts';

const CHECK_MS = 1_000;

/** Undefined if the work was aborted. */
export async function whileWanted<T>(
  signal: AbortSignal,
  isWanted: () => Promise<boolean>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const { controller, unlink } = linkedAbort(signal);
  let isUnwanted = false;
  const timer = setInterval(() => {
    isWanted().then(
      (wanted) => {
        isUnwanted ||= !wanted;
        if (!wanted) controller.abort(new Error('no longer wanted'));
      },
      // The check failed: continue.
      () => {},
    );
  }, CHECK_MS);
  try {
    return await work(controller.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnwanted) return undefined;
    throw error;
  } finally {
    clearInterval(timer);
    unlink();
  }
}
