/**
 * Whatever partners upload, import, append, clear and delete: every count and every set is what a slow, plain program says.
 * HEADRACE_TEST_SEQUENCES=200 runs more of them; a failure tells the seed and path with which it comes again.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDriver, type Driver } from '../support/driver.ts';
import { type Service, startService } from '../support/stack.ts';
import { expected, observed } from './sequences/compare.ts';
import { runSequence, sequence } from './sequences/sequence.ts';

const sequences = Number(process.env.HEADRACE_TEST_SEQUENCES ?? 6);
const seed = Number(process.env.HEADRACE_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const path = process.env.HEADRACE_TEST_PATH;
const MINUTE = 60_000;

let service: Service;
let driver: Driver;
beforeAll(async () => {
  // Small batches, so that even small files have many.
  service = await startService({ parts: ['pipeline'], env: { HEADRACE_BATCH_BYTES: '4000' } });
  driver = await createDriver(service.config);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
});

it(`${sequences} random sequences end as the oracle says`, {
  timeout: 2 * MINUTE + sequences * 20_000,
}, async () => {
  const done = { sequences: 0, jobs: 0, failedJobs: 0, files: 0, rows: 0, sets: 0 };
  const began = performance.now();
  const property = fc.asyncProperty(sequence, async (rounds) => {
    const { oracle } = await runSequence(driver, rounds, async (run) =>
      expect(await observed(driver, run.oracle)).toEqual(expected(run.oracle)),
    );
    const jobs = [...oracle.jobs.values()];
    done.sequences++;
    done.jobs += jobs.length;
    done.failedJobs += jobs.filter(({ status }) => status === 3).length;
    done.files += jobs.reduce((sum, job) => sum + job.files, 0);
    done.rows += jobs.reduce((sum, job) => sum + job.rows, 0);
    done.sets += oracle.filledSets().length;
  });
  console.info(
    `seed ${seed}: HEADRACE_TEST_SEED=${seed} HEADRACE_TEST_SEQUENCES=${sequences} repeats this run`,
  );
  await fc.assert(property, {
    numRuns: sequences,
    seed,
    ...(path === undefined ? {} : { path }),
    // A failure is made smaller for a while; what was found until then is told.
    interruptAfterTimeLimit: MINUTE + sequences * 20_000,
    markInterruptAsFailure: true,
    reporter(details) {
      if (!details.failed) return;
      const again = `HEADRACE_TEST_SEED=${details.seed} HEADRACE_TEST_PATH=${details.counterexamplePath}`;
      throw new Error(`${again} repeats this failure\n${fc.defaultReportMessage(details)}`, {
        cause: details.errorInstance,
      });
    },
  });
  console.info(`${Math.round((performance.now() - began) / 1000)} s, ${JSON.stringify(done)}`);
});
