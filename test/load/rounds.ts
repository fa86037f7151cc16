/** Percentiles, and the median of short repeated measurements. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest-rank method. */
export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

export const median = (values: readonly number[]): number => percentiles(values).p50;

const ROUNDS = 5;
const WARM_UPS = 3;
/** Lets the service become idle before each round. */
const pauseMs = 200;

/** The median seconds of the rounds after the warm-up. */
export async function medianOfRounds(
  work: (round: number) => Promise<number>,
): Promise<{ seconds: number[]; median: number }> {
  const seconds: number[] = [];
  for (let round = 0; round < WARM_UPS + ROUNDS; round++) {
    await sleep(pauseMs);
    const took = await work(round);
    if (round >= WARM_UPS) seconds.push(took);
  }
  return { seconds, median: median(seconds) };
}
