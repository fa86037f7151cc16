/** Another partner that keeps loading a small audience while a large job runs. */

import { createGenerator } from '../../deploy/cli/load/generate.ts';
import type { Bench } from './bench-stack.ts';
import { type CountCheck, checkAudience } from './check-counts.ts';
import { uploadFile } from './upload.ts';

const ROWS = 1_000;
const PATH = 'small.csv';

export interface Meanwhile {
  /** Of each load that began while the work ran, from POST to done. */
  readonly seconds: readonly number[];
  readonly checks: readonly CountCheck[];
}

export async function prepareAnother({ stack, signal }: Bench) {
  const { partner, calls } = await stack.anotherPartner();
  const { bytes } = createGenerator({ seed: 99, duplicates: 0, keys: ['visit'] }).nextFile({ rows: ROWS });
  await uploadFile(partner, PATH, bytes);

  return async <T>(work: () => Promise<T>): Promise<{ result: T; meanwhile: Meanwhile }> => {
    const seconds: number[] = [];
    const checks: CountCheck[] = [];
    let isDone = false;
    const working = work().finally(() => {
      isDone = true;
    });
    const loading = (async () => {
      while (!isDone) {
        const load = await calls.load('b', PATH, false, { everyMs: 20, signal });
        seconds.push(load.seconds);
        checks.push(...checkAudience(load.record, ROWS, ROWS));
      }
    })();
    const [result] = await Promise.all([working, loading]);
    return { result, meanwhile: { seconds, checks } };
  };
}
