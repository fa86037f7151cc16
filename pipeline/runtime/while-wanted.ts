/** Gives up a work that nobody wants any more, be it stuck in a wait: what is wanted is asked every second. */
const CHECK_MS = 1_000;

/** Undefined if the work was given up. */
export async function whileWanted<T>(
  signal: AbortSignal,
  isWanted: () => Promise<boolean>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const unwanted = new AbortController();
  const timer = setInterval(() => {
    isWanted().then(
      (wanted) => wanted || unwanted.abort(new Error('not wanted any more')),
      // Not known: the work goes on.
      () => {},
    );
  }, CHECK_MS);
  try {
    return await work(AbortSignal.any([signal, unwanted.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (unwanted.signal.aborted) return undefined;
    throw error;
  } finally {
    clearInterval(timer);
  }
}
