/** A small append to a small audience, and to a large one. */

import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { medianOfRounds } from '../rounds.ts';
import { storeAudience } from '../store-space.ts';
import { atMost, type Benchmark } from '../table.ts';
import { uploadFile } from '../upload.ts';

const ROWS = 10_000;

async function measure(bench: Bench, large: number, seed: number) {
  const { stack, signal } = bench;
  const checks: CountCheck[] = [];

  /** Every file has devices that are new to the audience. */
  async function appendTo(devices: number) {
    const audience = await storeAudience(bench, seed, devices);
    const generator = createGenerator({ seed, duplicates: 0, keys: ['visit'], firstDevice: devices });
    return medianOfRounds(async (round) => {
      const path = `append/${audience}/${round}.csv`;
      await uploadFile(stack.partner, path, generator.nextFile({ rows: ROWS }).bytes);
      const { record, seconds } = await stack.calls.append(audience, path, { everyMs: 5, signal });
      const { rows } = generator.counts();
      checks.push(...checkAudience(record, rows, devices + rows));
      return seconds;
    });
  }

  const small = await appendTo(ROWS);
  const full = await appendTo(large);
  return { small, full, checks };
}

export const append: Benchmark = {
  name: 'append',
  async measure({ runOn, sized, seed }) {
    const { small, full, checks } = await runOn('append', (bench) => measure(bench, sized(50_000_000), seed));
    const compared = {
      what: 'append of 10,000 rows: to 10,000 devices; to 50 M devices',
      small: seconds(small.median),
      full: seconds(full.median),
    };
    return { rows: [atMost(compared, full.median / small.median, 3)], checks, details: { small, full } };
  },
};
