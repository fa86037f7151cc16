/** `headrace replay` on the real stack: an ended job stays unchanged, and a dead letter whose cause is fixed lets its job end. */
import { expect } from 'vitest';
import { consume } from '../../pipeline/engine/consume.ts';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { describeTopics } from '../../pipeline/kafka/describe-topics.ts';
import { createMember } from '../../pipeline/kafka/group-member.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createPipelineMetrics } from '../../pipeline/runtime/metrics.ts';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import type { Driver } from '../support/driver.ts';
import { withService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { runHere } from '../support/run-here.ts';
import { type OwnService, startService } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

/** Validate starts later. Nothing recovers on its own within the test: lost messages are dispatched again after an hour. */
const test = withService({
  parts: ['pipeline'],
  stages: ['dispatch', 'split', 'sink'],
  env: { HEADRACE_TEST_STALL_MS: '3600000' },
});

interface Result {
  planned: Record<string, number>;
  remarks: string[];
  published: number;
}

async function replay({ env }: OwnService, ...args: string[]): Promise<Result> {
  const { code, stdout, stderr } = await runHere(['replay', '--json', ...args], env);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

const silent = createLogger({ logLevel: 'silent' }, 'test');
async function stateOf({ config }: OwnService) {
  const states = await describeTopics(config, silent);
  const of = (topic: TopicKey) => states.find((state) => state.topic === topic)!;
  return { letters: of('deadLetters').messages, lag: of('rows').lag!.messages };
}

/** A validate of another version, which cannot decode what split sends. The real consumer up to decoding. */
async function runOldValidate(
  { config, publisher, db }: Driver,
  untilDone: () => Promise<unknown>,
): Promise<void> {
  const known = topics.rows.holds as unknown as string[];
  const holds = known.splice(0);
  const stage = { name: 'validate', input: 'rows', weigh: () => 0, handle: async () => {} } as const;
  const consumption = consume(stage, {
    // Evicted before its commit, it would write a letter twice.
    member: createMember({ ...config, sessionTimeoutMs: 60_000 }, silent, stage),
    log: silent,
    publisher,
    retry: createRetry(silent),
    crashes: createCrashStore(db),
    recordReason: async () => {},
    metrics: createPipelineMetrics(),
    onFatal: (error) => {
      throw error;
    },
  });
  await untilDone();
  await consumption.stop();
  known.push(...holds);
}

let job: number;
let attribute: number;
const devices = ids(3_000);

test('a dead letter is put back once its cause is mended, and its job ends with exact counts', async ({
  service,
  driver,
  onTestFinished,
}) => {
  const rows = `${service.config.topicPrefix}.rows`;
  await driver.publisher.send('rows', [{ partition: 0, key: 'junk', value: Buffer.from('junk') }]);
  const partner = await driver.partner();
  attribute = await driver.attribute(partner);
  await driver.upload(partner, 'a.csv', `${file(devices, attribute)}junk,${attribute}\n`);
  job = await driver.import(partner, 'a.csv');
  await runOldValidate(driver, () =>
    waitFor(
      async () => {
        const { letters, lag } = await stateOf(service);
        return letters === 2 && lag === 0;
      },
      { what: 'two dead letters, and nothing left for validate', everyMs: 500 },
    ),
  );

  const { HEADRACE_PIPELINE_PORT: _, ...env } = service.env;
  const validate = await startService({ parts: ['pipeline'], stages: ['validate'], env });
  onTestFinished(() => validate.stop());
  // Validate has no messages left, and the job waits for the lost ones.
  expect(await driver.jobs.findOne({ _id: job })).toMatchObject({ phase: 'listed' });

  const expected = { planned: { [rows]: 1 }, remarks: [expect.stringContaining('no wire-format header')] };
  expect(await replay(service, '--dead-letters', '--dry-run')).toMatchObject({ ...expected, published: 0 });
  expect((await stateOf(service)).lag).toBe(0);
  expect(await replay(service, '--dead-letters', '--yes')).toMatchObject({ ...expected, published: 1 });
  expect(await driver.ended(job)).toMatchObject({ status: 2, rows: 3_001, uniqueDevices: 3_000 });
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
  // A second replay publishes nothing; what still cannot be decoded stays.
  const again = await replay(service, '--dead-letters', '--yes');
  expect(again).toMatchObject({ planned: {}, remarks: expected.remarks, published: 0 });

  const picture = async () => ({
    job: { ...(await driver.jobs.findOne({ _id: job })), updatedAt: null, statusUnpublished: undefined },
    files: (await driver.filesOf(job)).map((one) => ({ ...one, updatedAt: null })),
    rejects: await driver.db.collection('rejects').countDocuments(),
    devices: await driver.members(setNames.attribute(attribute)),
  });
  const before = await picture();
  const { planned, published } = await replay(service, '--job', String(job), '--yes');
  const shortNames = Object.keys(planned).map((name) => name.split('.').pop());
  expect(shortNames.sort()).toEqual(['devices', 'files', 'jobs', 'rows']);
  expect(published).toBe(Object.values(planned).reduce((sum, count) => sum + count, 0));
  // A job behind it: once it has ended, all replayed messages have been read.
  await driver.upload(partner, 'after.csv', file(ids(10), await driver.attribute(partner)));
  expect(await driver.ended(await driver.import(partner, 'after.csv'))).toMatchObject({ uniqueDevices: 10 });
  expect(await picture()).toEqual(before);
});

test('says first what it will do, and does nothing unless somebody agrees', async ({ service }) => {
  const { code, stdout, stderr } = await runHere(['replay', '--job', String(job)], service.env);
  expect(stdout).toMatch(new RegExp(`^to publish again: the messages of job ${job} \\(import, partner `));
  expect(stdout).toContain(`${service.config.topicPrefix}.rows  `);
  expect(stdout).toContain('the job has ended (done, 3,001 rows, 3,000 devices)');
  expect([code, stderr]).toEqual([2, expect.stringContaining('pass --yes to confirm')]);
  const none = await runHere(['replay', '--job', '999', '--yes'], service.env);
  expect(none).toMatchObject({ code: 1, stdout: '', stderr: 'headrace: job 999 does not exist\n' });
});
