/** A gate that lets numbers through in their order and without gaps, in whatever order they arrive: as many at once as are there. */
export interface Sequencer<Item, Result> {
  /** Resolves with what the step made of the item, when every number before this one has passed or passes with it. */
  pass(number: number, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** `step` gets items of consecutive numbers, one group at a time. When it fails, nothing passes any more. */
export function createSequencer<Item, Result>(
  first: number,
  signal: AbortSignal,
  step: (items: Item[]) => Promise<Result[] | undefined>,
): Sequencer<Item, Result> {
  const waiting = new Map<number, Waiting<Item, Result>>();
  let next = first;
  let passing = false;
  let closed: { reason: unknown } | undefined;

  function close(reason: unknown): void {
    closed ??= { reason };
    for (const { reject } of waiting.values()) reject(closed.reason);
    waiting.clear();
  }
  signal.addEventListener('abort', () => close(signal.reason), { once: true });

  async function letThrough(): Promise<void> {
    passing = true;
    for (let group = takeReady(); group.length > 0; group = takeReady()) {
      try {
        const results = await step(group.map(({ item }) => item));
        for (const [i, { resolve }] of group.entries())
          resolve(results ? results[i]! : (undefined as Result));
      } catch (error) {
        for (const { reject } of group) reject(error);
        close(error);
      }
    }
    passing = false;
  }

  function takeReady(): Waiting<Item, Result>[] {
    const group: Waiting<Item, Result>[] = [];
    for (let one = waiting.get(next); one; one = waiting.get(next)) {
      group.push(one);
      waiting.delete(next++);
    }
    return group;
  }

  return {
    pass: (number, item) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(closed.reason);
        waiting.set(number, { item, resolve, reject });
        if (!passing && waiting.has(next)) void letThrough();
      }),
  };
}
