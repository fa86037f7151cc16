/**
 * Random sequences of uploads, imports, appends, clears, deletions and privacy requests: every count and every set equals the
 * oracle's, and no device that was deleted for everyone is left anywhere in MongoDB. HEADRACE_TEST_SEQUENCES=200 runs more
 * sequences; a failure prints the seed and path that reproduce it, and HEADRACE_TEST_SHRINK=1 shrinks it.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVERYONE } from '../../schemas/job-documents.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { findInDatabase } from '../support/scan-database.ts';
import { type OwnService, startService } from '../support/stack.ts';
import { expected, observed } from './sequences/compare.ts';
import { runSequence } from './sequences/run-sequence.ts';
import { type Round, sequence } from './sequences/sequence.ts';

/** Sequences that run concurrently on one service: their jobs interleave. */
const AT_ONCE = 3;
const sequences = Number(process.env.HEADRACE_TEST_SEQUENCES ?? 6);
const seed = Number(process.env.HEADRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const path = process.env.HEADRACE_TEST_PATH;
const limitMs = 2_400_000 + sequences * 60_000;

let service: OwnService;
let driver: Driver;
beforeAll(async () => {
  // Small batches, so that even small files have many. One order for all jobs, so that partners may share devices.
  const env = { HEADRACE_TEST_BATCH_BYTES: '4000', HEADRACE_ORDER: 'service' };
  service = await startService({ parts: ['pipeline'], env });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
});

const done = { sequences: 0, jobs: 0, jobsWithErrors: 0, files: 0, filesLoaded: 0, rows: 0, sets: 0 };
/** Counts each error code: a code that never occurs is not tested here. */
const codes: Record<string, number> = {};
const count = (code: string, times: number) => {
  codes[code] = (codes[code] ?? 0) + times;
};

async function endsAsTheOracleSays(rounds: Round[]): Promise<void> {
  const { oracle } = await runSequence(driver, rounds, async (run) => {
    expect(await observed(driver, run.oracle)).toEqual(expected(run.oracle));
    expect(await findInDatabase(driver.db, run.oracle.suppressed(EVERYONE))).toEqual([]);
  });
  const jobs = [...oracle.jobs.values()];
  const files = [...oracle.files.values()].flat();
  done.sequences++;
  done.jobs += jobs.length;
  done.jobsWithErrors += jobs.filter(({ status }) => status === 3).length;
  done.files += files.length;
  done.filesLoaded += files.filter(({ status }) => status === 2).length;
  done.rows += files.reduce((sum, { rows }) => sum + rows, 0);
  done.sets += oracle.filledSets().length;
  for (const { code } of jobs.flatMap(({ errors }) => errors ?? [])) count(code, 1);
  for (const { rejected } of files) for (const [code, rows] of Object.entries(rejected)) count(code, rows);
}

it(`${sequences} random sequences end as the oracle says`, { timeout: limitMs + 300_000 }, async () => {
  const began = performance.now();
  const together = fc.tuple(...Array.from({ length: AT_ONCE }, () => sequence));
  const property = fc.asyncProperty(together, async (lanes) => {
    const ends = await Promise.allSettled(lanes.map(endsAsTheOracleSays));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  });
  console.info(`HEADRACE_TEST_SEED=${seed} HEADRACE_TEST_SEQUENCES=${sequences} repeats this run`);
  await fc.assert(property, {
    numRuns: Math.ceil(sequences / AT_ONCE),
    seed,
    ...(path === undefined ? {} : { path }),
    // Shrinking takes minutes, so it is opt-in.
    endOnFailure: process.env.HEADRACE_TEST_SHRINK === undefined,
    interruptAfterTimeLimit: limitMs,
    markInterruptAsFailure: true,
    reporter(details) {
      if (!details.failed) return;
      const again = `HEADRACE_TEST_SEED=${details.seed} HEADRACE_TEST_PATH=${details.counterexamplePath}`;
      const found = JSON.stringify(details.counterexample);
      throw new Error(`${again} repeats this failure, found for\n${found}`, { cause: details.errorInstance });
    },
  });
  console.info(
    `${Math.round((performance.now() - began) / 1000)} s: ${JSON.stringify({ ...done, ...codes })}`,
  );
});
