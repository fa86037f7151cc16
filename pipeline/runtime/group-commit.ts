/**
 * Group commit: calls that come while enough groups are in flight wait, and the next group takes all that fit. A single call waits for
 * nothing; a hundred cost a few round trips. If the work fails, it fails for all of its callers, and each retries alone.
 */
interface GroupOptions<Item> {
  /** How many groups may be in flight at once. */
  inFlight?: number;
  /** How many of those that wait make the next group. */
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

/** `work` gives a result for each item, in their order; or nothing, if no caller needs one. */
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
      // One turn of the loop, so that what is asked in the same moment goes together.
      setImmediate(pump);
    });
}

/** The same, but when a group fails each of its items is tried alone, and only those that fail again fail their callers. */
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
