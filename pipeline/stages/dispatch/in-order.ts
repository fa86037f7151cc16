/** A gate that lets numbers through one after the other, without gaps, in whatever order they arrive. */
export interface InOrder {
  /** Runs the step when every number before this one has passed. The next may come when it has succeeded. */
  pass<T>(number: number, step: () => Promise<T>): Promise<T>;
}

export function createInOrder(first: number, signal: AbortSignal): InOrder {
  let next = first;
  const waiting = new Map<number, () => void>();

  return {
    async pass(number, step) {
      if (number > next) {
        await new Promise<void>((resolve, reject) => {
          const give = () => reject(signal.reason);
          signal.addEventListener('abort', give, { once: true });
          waiting.set(number, () => {
            signal.removeEventListener('abort', give);
            resolve();
          });
        });
      }
      signal.throwIfAborted();
      const result = await step();
      next = number + 1;
      waiting.get(next)?.();
      waiting.delete(next);
      return result;
    },
  };
}
