/**
 * The composition report of a large audience over REST: with an empty and a full marketplace; the API's latency for other calls
 * meanwhile; and one partner's report queued behind many of another partner.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { collections } from '../../../schemas/documents.ts';
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkCount } from '../check-counts.ts';
import { seconds } from '../format.ts';
import { type Marketplace, storeMarketplace } from '../full-marketplace.ts';
import { median, percentiles } from '../rounds.ts';
import { storeAudience } from '../store-space.ts';
import { atMost, type Benchmark } from '../table.ts';

const ROUNDS = 3;
const ATTRIBUTES = 1_000;
const QUEUED = 25;
const pollEveryMs = 100;
const callEveryMs = 50;

/** Calls the API repeatedly while the work runs. Returns each call's milliseconds. */
async function whileCalling(bench: Bench, work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  let isDone = false;
  const calling = (async () => {
    while (!isDone) {
      const since = performance.now();
      await bench.stack.calls.listImports();
      times.push(performance.now() - since);
      await sleep(callEveryMs);
    }
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await calling;
  }
  return times;
}

interface Expected {
  readonly devices: number;
  readonly matched: number;
  readonly marketplace: Pick<Marketplace, 'attributes' | 'devices' | 'common'>;
}

function check({ devices, matched, marketplace }: Expected, report: Record<string, unknown>): CountCheck[] {
  const rows = report.attributes as { attribute_id: number; devices: number }[];
  return [
    checkCount('unique devices', devices, report.unique_devices),
    checkCount('matched devices', matched, report.matched_devices),
    checkCount('marketplace devices', marketplace.devices, report.marketplace_devices),
    checkCount('attributes', marketplace.attributes.length, rows.length),
    ...rows.map((row) =>
      checkCount(`common with attribute ${row.attribute_id}`, marketplace.common, row.devices),
    ),
  ];
}

async function measure(bench: Bench, devices: number, attributeDevices: number, seed: number) {
  const { stack, signal } = bench;
  const audience = await storeAudience(bench, seed, devices);
  const checks: CountCheck[] = [];
  const composeAnew = async (expected: Expected) => {
    const took: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await stack.db.collection(collections.compositions).deleteMany({});
      const composed = await stack.calls.compose(audience, { everyMs: pollEveryMs, signal });
      checks.push(...check(expected, composed.report));
      took.push(composed.seconds);
    }
    return took;
  };
  const nothing = { attributes: [], devices: 0, common: 0 };
  const empty = await composeAnew({ devices, matched: 0, marketplace: nothing });
  // A fifth of the audience has no attribute.
  const shared = Math.round(devices * 0.8);
  const marketplace = await storeMarketplace(bench, {
    attributes: ATTRIBUTES,
    attributeDevices,
    shared,
    apart: devices,
    seed,
  });
  const full: number[] = [];
  const others = await whileCalling(bench, async () => {
    full.push(...(await composeAnew({ devices, matched: shared, marketplace })));
  });
  return {
    empty,
    full,
    others: percentiles(others),
    turns: await measureTurns(bench, devices, seed),
    checks,
  };
}

/** B's report alone, then behind A's reports. */
async function measureTurns(bench: Bench, devices: number, seed: number) {
  const { stack, signal } = bench;
  const compositions = stack.db.collection(collections.compositions);
  const another = await stack.anotherPartner();
  const theirs = await storeAudience(bench, seed, devices, another);
  const queued: number[] = [];
  while (queued.length < QUEUED) queued.push(await storeAudience(bench, seed, devices));
  const took = { alone: [] as number[], behind: [] as number[] };
  const left: number[] = [];
  for (const situation of ['alone', 'behind'] as const)
    for (let round = 0; round < ROUNDS; round++) {
      // Finished reports are queued again; the others still are.
      await compositions.deleteMany({ claim: { $exists: false } });
      if (situation === 'behind') for (const audience of queued) await stack.calls.queueReport(audience);
      const composed = await another.calls.compose(theirs, { everyMs: pollEveryMs, signal });
      took[situation].push(composed.seconds);
      if (situation === 'behind') left.push(await compositions.countDocuments({ claim: { $exists: true } }));
    }
  return { ...took, left };
}

export const composition: Benchmark = {
  name: 'composition',
  async measure({ runOn, sized, seed }) {
    const { empty, full, others, turns, checks } = await runOn('composition', (bench) =>
      measure(bench, sized(1_000_000), sized(100_000), seed),
    );
    const what = 'composition report of 1 M devices: empty marketplace; 1,000 attributes of 100,000 devices';
    const report = { what, small: seconds(median(empty)), full: seconds(median(full)) };
    const meanwhile = {
      what: 'other requests meanwhile, p99',
      small: '',
      full: `${others.p99.toFixed(0)} ms`,
    };
    const [alone, behind] = [median(turns.alone), median(turns.behind)];
    const turn = {
      what: `a partner’s report: alone; behind ${QUEUED} of another partner`,
      small: seconds(alone),
      full: `${seconds(behind)}, ${Math.min(...turns.left)} of the others unfinished`,
    };
    return {
      rows: [
        atMost(report, median(full), 6, 's'),
        atMost(meanwhile, others.p99, 100, 'ms'),
        atMost(turn, behind / alone, 3),
      ],
      checks,
      details: { empty, full, others, turns },
    };
  },
};
