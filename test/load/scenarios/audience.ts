/** A small audience, matched against an empty marketplace and a full one. */

import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience, checkCount } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { storeMarketplace } from '../full-marketplace.ts';
import { medianOfRounds } from '../rounds.ts';
import { atMost, type Benchmark } from '../table.ts';
import { uploadFile } from '../upload.ts';

const ROWS = 10_000;
const ATTRIBUTES = 1_000;
const PATH = 'audience.csv';

interface Options {
  readonly attributeDevices: number;
  /** Devices that share attributes; the audience holds the last of them. */
  readonly shared: number;
  readonly seed: number;
}

async function measure(bench: Bench, options: Options) {
  const { stack, signal } = bench;
  const { shared, seed, attributeDevices } = options;
  const known = Math.min(ROWS / 2, shared);
  const generator = createGenerator({
    seed,
    duplicates: 0,
    keys: ['visit', 'purchase'],
    firstDevice: shared - known,
  });
  await uploadFile(stack.partner, PATH, generator.nextFile({ rows: ROWS }).bytes);
  const checks: CountCheck[] = [];
  const load = async (matched: number) => {
    const { record, seconds } = await stack.calls.load('b', PATH, false, { everyMs: 5, signal });
    checks.push(...checkAudience(record, ROWS, ROWS));
    checks.push(checkCount(`matched_devices of ${record.audience_id}`, matched, record.matched_devices));
    return seconds;
  };
  const empty = await medianOfRounds(() => load(0));
  await storeMarketplace(bench, {
    attributes: ATTRIBUTES,
    attributeDevices,
    shared,
    apart: shared + ROWS,
    seed,
  });
  const full = await medianOfRounds(() => load(known));
  return { empty, full, checks };
}

export const audience: Benchmark = {
  name: 'audience',
  async measure({ runOn, sized, seed }) {
    const attributeDevices = sized(100_000);
    const { empty, full, checks } = await runOn('audience', (bench) =>
      measure(bench, { attributeDevices, shared: sized(1_000_000), seed }),
    );
    const compared = {
      what: 'audience of 10,000 rows: empty marketplace; 1,000 attributes of 100,000 devices',
      small: seconds(empty.median),
      full: seconds(full.median),
    };
    return { rows: [atMost(compared, full.median / empty.median, 1.5)], checks, details: { empty, full } };
  },
};
