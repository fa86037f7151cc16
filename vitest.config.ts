import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Inherited by the workers and by every process they start.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
// A broker of a test lives too short to earn back what the optimising compiler costs: half of all its CPU time.
process.env.JDK_JAVA_OPTIONS ??= '-XX:TieredStopAtLevel=1';

/** Seconds that each file took when they were last recorded (`npm test -- --record`); without those of under three seconds. */
const durations: Record<string, number> = JSON.parse(
  readFileSync(new URL('./test/durations.json', import.meta.url), 'utf8'),
);
/** A file that was never recorded may be a long one; among the others, a short one does no harm. */
const UNKNOWN_SECONDS = 30;

/** Longest first, so that no long file is left for the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) =>
      durations[relative(import.meta.dirname, moduleId)] ?? UNKNOWN_SECONDS;
    return files.toSorted((a, b) => seconds(b) - seconds(a));
  }
}

/** Replaces a module that other tests use. */
const isolated = ['test/sources/patience.unit.test.ts'];

/** Two kinds: what needs no server runs at once and starts none; the rest shares one real Kafka, mongod and S3. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.unit.test.ts'],
          exclude: isolated,
          setupFiles: ['test/support/same-input.ts'],
          isolate: false,
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      { test: { name: 'unit, isolated', include: isolated, sequence: { groupOrder: 1 } } },
      {
        test: {
          name: 'stack',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.unit.test.ts', 'test/containers/**'],
          globalSetup: ['test/support/global-setup.ts'],
          // After the unit tests: a worker that changes to another project starts again.
          sequence: { groupOrder: 2 },
          // A worker keeps the modules it has loaded: drivers and SDKs cost more CPU time than most tests.
          isolate: false,
          // Only to end what hangs: every wait has an end of its own, and says what did not come.
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
    ],
    // Each file of the stack project has processes beside it, and most of them wait for something at any time.
    maxWorkers: 4,
    teardownTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
  },
});
