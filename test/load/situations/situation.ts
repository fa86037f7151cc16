/** Partner A's work while partner B loads small files beside it. */
import type { FaultyProxy } from '../../sources/faulty-proxy.ts';
import type { Bench } from '../bench-stack.ts';
import type { CountCheck } from '../check-counts.ts';

export interface Setting {
  readonly bench: Bench;
  readonly size: number;
  readonly seed: number;
  /** Before the storage that serves as the partners' own buckets. */
  readonly ownStorage: FaultyProxy;
}

export interface Work {
  /** Resolves when B may start. Default: at once. */
  readonly begun?: Promise<void>;
  /** Repeats the work at least once, until it is enough. Returns the seconds of each run. */
  until(isEnough: () => boolean): Promise<number[]>;
  /** Checks of all work so far; `others` is the number of devices that other partners have imported into the marketplace. */
  checks(others: number): Promise<CountCheck[]>;
}

export interface Situation {
  readonly name: string;
  /** Default; `--beside name=size` overrides it. */
  readonly size: number;
  describe(size: number): string;
  /** Whether A's time alone and beside B can be compared. */
  readonly hasSpeed: boolean;
  /** Runs before the service's first job: what is stored directly must be the first in the marketplace. */
  prepare(setting: Setting): Promise<Work>;
}

/** `run` returns its seconds; one call of `until` repeats it at most `maxRuns` times. */
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
