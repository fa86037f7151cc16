import { appendFileSync } from 'node:fs';

/** Adds what starting and stopping takes to the account that `npm test` prints; only there is the variable set. */
export async function timed<T>(what: 'start' | 'stop', work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  try {
    return await work();
  } finally {
    const file = process.env.HEADRACE_TEST_TIMES;
    if (file) appendFileSync(file, `${what} ${Math.round(performance.now() - from)}\n`);
  }
}
