/**
 * Fair queueing: serves the waiting key that has been served least, counting its next item. Keys that wait all the time never differ by
 * more than one item, and small items overtake large ones. A key that starts to wait begins level with the others.
 */
import { LRUCache } from 'lru-cache';

interface Item {
  key: string;
  cost: number;
}

const MAX_REMEMBERED = 10_000;

export function createFairShare() {
  const served = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  /** Service of the least served waiting key. */
  let level = 0;
  const ever = (key: string) => served.peek(key) ?? 0;
  const servedTo = (key: string) => Math.max(level, ever(key));
  /** A tie goes to the key that has been served less in the past. */
  const isBefore = (a: Item, b: Item) =>
    (servedTo(a.key) + a.cost - servedTo(b.key) - b.cost || ever(a.key) - ever(b.key)) < 0;

  /** Picks the item to serve next, among those that fit. `waiting`: the next item of each waiting key. */
  function next<T extends Item>(
    waiting: readonly T[],
    fits: (item: T) => boolean = () => true,
  ): T | undefined {
    if (waiting.length > 0) level = Math.min(...waiting.map(({ key }) => servedTo(key)));
    let chosen: T | undefined;
    for (const item of waiting) if ((!chosen || isBefore(item, chosen)) && fits(item)) chosen = item;
    return chosen;
  }
  const serve = ({ key, cost }: Item) => void served.set(key, servedTo(key) + cost);

  return {
    next,
    serve,
    /** Picks the next of these keys, all turns being equal. */
    takeTurn(keys: readonly string[]): string | undefined {
      const chosen = next(keys.map((key) => ({ key, cost: 1 })));
      if (chosen) serve(chosen);
      return chosen?.key;
    },
  };
}
