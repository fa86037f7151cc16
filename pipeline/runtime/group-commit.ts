/**
 * Group commit: while enough groups are in flight, calls wait, and the next group takes all that fit. A single call does not wait; a
 * hundred cost a few round trips. A failed group fails all of its callers, and each retries on its own.
 */
interface GroupOptions<Item> {
  /** Maximum number of groups in flight. */
  inFlight?: number;
  /** How many of the waiting calls form the next group. */
  howMany?(waiting: readonly Waiting<Item>[]): number;
}

export interface Waiting<Item> {
  readonly item: Item;
}

interface Caller<Item, Result> extends Waiting<Item> {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const MAX_GROUP = 500;

/** `work` returns a result for each item, in order; or nothing, if no caller needs one. */
export function groupCommit<Item, Result = void>(
  work: (items: Item[]) => Promise<Result[] | undefined>,
  { inFlight = 1, howMany = ({ length }) => Math.min(length, MAX_GROUP) }: GroupOptions<Item> = {},
): (item: Item) => Promise<Result> {
  let waiting: Caller<Item, Result>[] = [];
  let running = 0;
  let scheduled = false;

  function pump(): void {
    scheduled = false;
    while (running < inFlight && waiting.length > 0) {
      const count = howMany(waiting);
      const group = waiting.slice(0, count);
      waiting = waiting.slice(count);
      running++;
      void settle(group).finally(() => {
        running--;
        pump();
      });
    }
  }

  async function settle(group: Caller<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item));
      for (const [i, { resolve }] of group.entries()) resolve(results ? results[i]! : (undefined as Result));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (scheduled || running >= inFlight) return;
      scheduled = true;
      // Wait one turn of the event loop, to collect concurrent calls.
      setImmediate(pump);
    });
}

/** Like groupCommit, but retries each item of a failed group alone; only items that fail again fail their callers. */
export function groupCommitEach<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  async function workAlone(item: Item): Promise<() => Result> {
    try {
      const [result] = await work([item]);
      return () => result!;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }
  const grouped = groupCommit(async (items: Item[]): Promise<(() => Result)[]> => {
    try {
      return (await work(items)).map((result) => () => result);
    } catch (error) {
      if (items.length === 1) throw error;
    }
    const settled: (() => Result)[] = [];
    for (const item of items) settled.push(await workAlone(item));
    return settled;
  });
  return async (item) => (await grouped(item))();
}
