/** A sequencer: items arrive in any order and pass in the order of their numbers, without gaps, in groups as large as possible. */
export interface Sequencer<Item, Result> {
  /**
   * Resolves with the step's result for the item, once all earlier numbers have passed or pass with it. Rejects if the step fails for this
   * item alone: later numbers then wait until it is passed again.
   */
  pass(number: number, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  number: number;
  item: Item;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** `step` gets items of consecutive numbers, one group at a time; or a single item whose number has passed before. */
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

  /** Tries the group as a whole; if that fails, item by item up to the one that fails. */
  async function takeAll(group: Passing[]): Promise<void> {
    try {
      return await take(group);
    } catch (error) {
      if (group.length === 1 || signal.aborted) return turnBack(group, error);
    }
    for (const [i, entry] of group.entries()) {
      try {
        await take([entry]);
      } catch (error) {
        return turnBack(group.slice(i), error);
      }
    }
  }

  function turnBack([failed, ...others]: Passing[], error: unknown): void {
    next = failed!.number;
    failed!.reject(error);
    for (const entry of others)
      if (signal.aborted) entry.reject(signal.reason);
      else waiting.set(entry.number, entry);
  }

  async function letThrough(): Promise<void> {
    passing = true;
    for (let group = takeReady(); group.length > 0; group = takeReady()) await takeAll(group);
    passing = false;
  }

  function takeReady(): Passing[] {
    const group: Passing[] = [];
    for (let entry = waiting.get(next); entry; entry = waiting.get(next)) {
      group.push(entry);
      waiting.delete(next++);
    }
    return group;
  }

  return {
    pass: (number, item) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const entry = { number, item, resolve, reject };
        if (number < next) return take([entry]).catch(reject);
        waiting.set(number, entry);
        if (!passing && waiting.has(next)) void letThrough();
      }),
  };
}
