/** What partner A does while partner B loads small files beside it. */
import type { FaultyProxy } from '../../sources/faulty-proxy.ts';
import type { Bench } from '../bench-stack.ts';
import type { CountCheck } from '../check-counts.ts';

export interface Setting {
  readonly bench: Bench;
  readonly size: number;
  readonly seed: number;
  /** In front of what partners' own buckets are. */
  readonly ownStorage: FaultyProxy;
}

export interface Work {
  /** Resolves when B may start; otherwise it may at once. */
  readonly begun?: Promise<void>;
  /** Does the work at least once, and again until it is enough. Returns the seconds of each run. */
  until(isEnough: () => boolean): Promise<number[]>;
  /** Of everything that was done; `others` are devices that other partners have put into the marketplace. */
  checks(others: number): Promise<CountCheck[]>;
}

export interface Situation {
  readonly name: string;
  /** The default; `--beside name=size` sets another. */
  readonly size: number;
  describe(size: number): string;
  /** Whether A's time alone and beside B can be compared. */
  readonly hasSpeed: boolean;
  /** Runs before the first job of the service: what is stored directly must be the first in the marketplace. */
  prepare(setting: Setting): Promise<Work>;
}

/** `run` returns its seconds; `maxRuns` is how often one call of `until` may repeat it. */
export function repeated(
  run: (number: number) => Promise<{ seconds: number; checks: CountCheck[] }>,
  { maxRuns = Number.POSITIVE_INFINITY, check = async (_others: number): Promise<CountCheck[]> => [] } = {},
): Work {
  const found: CountCheck[] = [];
  let number = 0;
  return {
    async until(isEnough) {
      const took: number[] = [];
      do {
        const { seconds, checks } = await run(number++);
        took.push(seconds);
        found.push(...checks);
      } while (took.length < maxRuns && !isEnough());
      return took;
    },
    checks: async (others) => [...found, ...(await check(others))],
  };
}
