/** Round robin: of those that wait, the one whose last turn is longest ago is next. */
import { LRUCache } from 'lru-cache';

const MAX_REMEMBERED = 10_000;

export function createRoundRobin() {
  const lastTurns = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  let turns = 0;

  return {
    next(waiting: Iterable<string>): string | undefined {
      let chosen: string | undefined;
      let oldest = Number.POSITIVE_INFINITY;
      for (const key of waiting) {
        const last = lastTurns.peek(key) ?? 0;
        if (last >= oldest) continue;
        chosen = key;
        oldest = last;
      }
      if (chosen !== undefined) lastTurns.set(chosen, ++turns);
      return chosen;
    },
  };
}
