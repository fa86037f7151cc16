/** A gate that lets numbers through in their order and without gaps, in whatever order they arrive: as many at once as are there. */
export interface Sequencer<Item, Result> {
  /**
   * Resolves with what the step made of the item, when every number before this one has passed or passes with it. Rejects if the step
   * fails for it alone: no later number passes it then, and it may try again.
   */
  pass(number: number, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  number: number;
  item: Item;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** `step` gets items of consecutive numbers, one group at a time; or one that has passed before. */
export function createSequencer<Item, Result>(
  first: number,
  signal: AbortSignal,
  step: (items: Item[]) => Promise<Result[] | undefined>,
): Sequencer<Item, Result> {
  type Passing = Waiting<Item, Result>;
  const waiting = new Map<number, Passing>();
  let next = first;
  let passing = false;

  signal.addEventListener(
    'abort',
    () => {
      for (const { reject } of waiting.values()) reject(signal.reason);
      waiting.clear();
    },
    { once: true },
  );

  async function take(group: Passing[]): Promise<void> {
    const results = await step(group.map(({ item }) => item));
    for (const [i, { resolve }] of group.entries()) resolve(results ? results[i]! : (undefined as Result));
  }

  /** Together; or one by one, up to the one that fails. */
  async function takeAll(group: Passing[]): Promise<void> {
    try {
      return await take(group);
    } catch (error) {
      if (group.length === 1 || signal.aborted) return turnBack(group, error);
    }
    for (const [i, one] of group.entries()) {
      try {
        await take([one]);
      } catch (error) {
        return turnBack(group.slice(i), error);
      }
    }
  }

  function turnBack([failed, ...others]: Passing[], error: unknown): void {
    next = failed!.number;
    failed!.reject(error);
    for (const one of others)
      if (signal.aborted) one.reject(signal.reason);
      else waiting.set(one.number, one);
  }

  async function letThrough(): Promise<void> {
    passing = true;
    for (let group = takeReady(); group.length > 0; group = takeReady()) await takeAll(group);
    passing = false;
  }

  function takeReady(): Passing[] {
    const group: Passing[] = [];
    for (let one = waiting.get(next); one; one = waiting.get(next)) {
      group.push(one);
      waiting.delete(next++);
    }
    return group;
  }

  return {
    pass: (number, item) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const one = { number, item, resolve, reject };
        if (number < next) return take([one]).catch(reject);
        waiting.set(number, one);
        if (!passing && waiting.has(next)) void letThrough();
      }),
  };
}
