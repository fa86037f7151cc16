import { appendFileSync } from 'node:fs';

/** Adds the time of starts and stops to the totals that `npm test` prints; the variable is set only there. */
export async function timed<T>(what: 'start' | 'stop', work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  try {
    return await work();
  } finally {
    const file = process.env.HEADRACE_TEST_TIMES;
    if (file) appendFileSync(file, `${what} ${Math.round(performance.now() - from)}\n`);
  }
}
