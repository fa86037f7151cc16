/** Something short, measured several times. */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './percentiles.ts';

const ROUNDS = 5;
/** Each round finds the service idle. */
const pauseMs = 200;

/** The median seconds of the rounds; the first warms up and does not count. */
export async function medianOfRounds(
  work: (round: number) => Promise<number>,
): Promise<{ seconds: number[]; median: number }> {
  const seconds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    await sleep(pauseMs);
    const took = await work(round);
    if (round > 0) seconds.push(took);
  }
  return { seconds, median: median(seconds) };
}
