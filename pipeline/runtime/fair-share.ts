/**
 * Fair queueing: of those that wait, the next is the one that has been served least, its next item included. Two that wait all the time
 * are never further apart than one item, and a small item passes large ones. One that begins to wait starts level with the others.
 */
import { LRUCache } from 'lru-cache';

interface Item {
  key: string;
  cost: number;
}

const MAX_REMEMBERED = 10_000;

export function createFairShare() {
  const served = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  /** What the least served of those that wait has been served. */
  let level = 0;
  const ever = (key: string) => served.peek(key) ?? 0;
  const servedTo = (key: string) => Math.max(level, ever(key));
  /** Those that are level: first the one that has had less before. */
  const isBefore = (a: Item, b: Item) =>
    (servedTo(a.key) + a.cost - servedTo(b.key) - b.cost || ever(a.key) - ever(b.key)) < 0;

  /** Of the next items of all keys that wait, the one to serve; only those that `fits` accepts are chosen. */
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
    /** Whose turn it is of these, where one turn is worth the same as another. */
    takeTurn(keys: readonly string[]): string | undefined {
      const chosen = next(keys.map((key) => ({ key, cost: 1 })));
      if (chosen) serve(chosen);
      return chosen?.key;
    },
  };
}
