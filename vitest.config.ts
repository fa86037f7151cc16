import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Inherited by the workers and by every process they start.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
// A broker of a test lives too short to earn back what the optimising compiler costs: half of all its CPU time.
process.env.JDK_JAVA_OPTIONS ??= '-XX:TieredStopAtLevel=1';

/** Minutes against seconds: what starts servers and processes of its own comes first, so that no long one is left for the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      /test\/(faults|deploy|invariants)\/.*(?<!\.unit)\.test\.ts$/.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** Two projects: what needs no server runs at once and starts none; the rest shares one real Kafka, mongod and S3. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.unit.test.ts'],
          setupFiles: ['test/support/same-input.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          name: 'stack',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.unit.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          // Only to end what hangs: what a test waits for has a deadline of its own, which says what did not come.
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
    ],
    // Each file of the stack project starts processes of its own beside the servers; three at a time: there is always one that waits.
    maxWorkers: 3,
    teardownTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
  },
});
