/** Something short, measured several times. */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './percentiles.ts';

const ROUNDS = 5;
const WARM_UPS = 3;
/** Each round finds the service idle. */
const pauseMs = 200;

/** The median seconds of the rounds behind those that warm up. */
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
