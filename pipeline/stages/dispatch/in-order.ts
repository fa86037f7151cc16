/** A gate that lets numbers through one after the other, without gaps, in whatever order they arrive. */
export interface InOrder {
  /** Runs the step when every number before this one has passed. The next may come when it has succeeded. */
  pass<T>(number: number, step: () => Promise<T>): Promise<T>;
}

export function createInOrder(first: number, signal: AbortSignal): InOrder {
  let next = first;
  const waiting = new Map<number, { let(): void; refuse(reason: unknown): void }>();
  // One listener for all who wait: a window of jobs would be a crowd of them.
  signal.addEventListener(
    'abort',
    () => {
      for (const { refuse } of waiting.values()) refuse(signal.reason);
    },
    { once: true },
  );

  return {
    async pass(number, step) {
      signal.throwIfAborted();
      if (number > next) {
        await new Promise<void>((resolve, reject) => {
          waiting.set(number, { let: resolve, refuse: reject });
        });
      }
      signal.throwIfAborted();
      const result = await step();
      next = number + 1;
      waiting.get(next)?.let();
      waiting.delete(next);
      return result;
    },
  };
}
