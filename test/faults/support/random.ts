/** A seeded random source: everything random in a fault test follows from one seed, which the test prints. */
export interface Random {
  readonly seed: number;
  /** In [0, 1). */
  next(): number;
  /** An integer in [0, bound). */
  below(bound: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** `count` distinct elements, or all if there are fewer. */
  some<T>(from: readonly T[], count: number): T[];
  /** An independent source: its numbers do not depend on later draws from this one. */
  fork(): Random;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    seed,
    next,
    below,
    chance: (share) => next() < share,
    pick: (from) => from[below(from.length)]!,
    some(from, count) {
      const left = [...from];
      return Array.from(
        { length: Math.min(count, left.length) },
        () => left.splice(below(left.length), 1).at(0)!,
      );
    },
    fork: () => createRandom(below(2 ** 31)),
  };
}

/** The seed of a short round: HEADRACE_TEST_SEED or a random one, printed with the command that repeats the round. */
export function roundSeed(name: string): Random {
  const seed = Number(process.env.HEADRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.info(`${name}: HEADRACE_TEST_SEED=${seed} npm test -- test/faults/${name} repeats this round`);
  return createRandom(seed);
}
