/** `headrace doctor` on the real servers: all is well, then one broken thing at a time. */
import { expect } from 'vitest';
import { describeTopics } from '../../pipeline/kafka/describe-topics.ts';
import { createKafka, topicName } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { collections } from '../../schemas/documents.ts';
import { eventually } from '../support/eventually.ts';
import { withService } from '../support/fixture.ts';
import { runHere } from '../support/run-here.ts';
import { impatient } from '../support/settings.ts';
import { type OwnService, servers, uniqueEnvironment } from '../support/stack.ts';

const test = withService();
const silent = createLogger({ logLevel: 'silent' }, 'test');

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  found: string;
  advice?: string;
}
interface Report {
  ok: boolean;
  findings: Finding[];
}

async function examine(
  env: OwnService['env'],
  command = ['doctor'],
): Promise<Report & { code: number | null }> {
  const { code, stdout, stderr } = await runHere([...command, '--json'], env);
  expect(stderr).toBe('');
  return { code, ...(JSON.parse(stdout) as Report) };
}
const problems = ({ findings }: Report) => findings.filter(({ state }) => state === 'problem');
const all = (report: Report, check: string) => report.findings.filter((finding) => finding.check === check);

test('a healthy service: every check is there, nothing is a problem, the exit code is 0', async ({
  service,
  driver,
}) => {
  await driver.upload(await driver.partner(), 'a.csv', 'a\n');
  let report = await examine(service.env);
  const good = async () => {
    report = await examine(service.env);
    return report.findings.filter(({ state }) => state === 'ok').map(({ check }) => check);
  };
  // A process that was starved has lost its place in a group, and joins again.
  await eventually(good).toEqual(
    expect.arrayContaining([
      ...['settings', 'kafka connection', 'kafka topics', 'kafka rights', 'kafka groups'],
      ...['kafka clock', 'mongodb connection', 'mongodb version', 'mongodb clock'],
      ...['mongodb indexes', 'storage', 'storage clock'],
    ]),
  );
  expect(problems(report)).toEqual([]);
  expect([report.code, report.ok]).toEqual([0, true]);
  const topics = await describeTopics(service.config, silent);
  expect(topics.map(({ messages }) => messages)).toEqual(topics.map(() => 0));
  const [storage] = all(report, 'storage');
  expect(storage!.found).toMatch(/can be listed and read$/);
  // The test servers have no authentication.
  expect(all(report, 'mongodb rights')).toMatchObject([{ state: 'warning' }]);
});

test('for a person: a line for each check, below it what to do, and the sum', async ({ service }) => {
  let stdout = '';
  const examined = async () => {
    const outcome = await runHere(['doctor'], service.env);
    stdout = outcome.stdout;
    return outcome.code;
  };
  await eventually(examined).toBe(0);
  expect(stdout).toMatch(/^ok +kafka connection +\S+ responds; the cluster has 1 broker$/m);
  expect(stdout).toMatch(/^warning +settings +HEADRACE_REPLICATION_FACTOR: .*\n +do: set it to 3/m);
  expect(stdout).toMatch(/^\d+ ok, \d+ warnings?, 0 problems\n$/m);
});

test('before the first start: what will be created is no problem, and nothing is created', async ({
  driver,
}) => {
  const env = uniqueEnvironment();
  for (const _ of [1, 2]) {
    let report!: Report;
    const found = async () => {
      report = await examine(env);
      return problems(report);
    };
    await eventually(found).toEqual([]);
    expect(all(report, 'kafka topics')).toMatchObject([{ state: 'warning', found: /^missing: / }]);
    expect(all(report, 'mongodb indexes').every(({ state }) => state === 'warning')).toBe(true);
    expect(all(report, 'kafka groups')).toMatchObject([{ advice: 'start headrace pipeline' }]);
  }
  const databases = await driver.db.admin().listDatabases({ nameOnly: true });
  expect(databases.databases.map(({ name }) => name)).not.toContain(env.HEADRACE_MONGO_DATABASE);
});

/** Nothing listens on the local discard port. */
const nowhere = '127.0.0.1:9';

test.for([
  ['kafka connection', { HEADRACE_KAFKA_BROKERS: nowhere }, 'HEADRACE_KAFKA_BROKERS'],
  [
    'mongodb connection',
    { HEADRACE_MONGO_URL: `mongodb://${nowhere}/?replicaSet=rs0` },
    'HEADRACE_MONGO_URL',
  ],
  ['storage', { HEADRACE_S3_ENDPOINT: `http://${nowhere}` }, 'HEADRACE_S3_ENDPOINT'],
  ['storage', { HEADRACE_S3_SECRET_ACCESS_KEY: 'wrong' }, 'HEADRACE_S3_SECRET_ACCESS_KEY'],
  ['storage', { HEADRACE_S3_BUCKET: 'there-is-no-such-bucket' }, 'HEADRACE_S3_BUCKET'],
] as const)(
  '%s with %j: the setting is named, the exit code is 1',
  async ([check, broken, setting], { service }) => {
    const report = await examine({ ...service.env, ...impatient, ...broken });
    expect([report.code, report.ok]).toEqual([1, false]);
    const [found] = problems(report).filter((finding) => finding.check === check);
    expect(found?.advice).toContain(setting);
    // The other checks still run.
    expect(report.findings.some((finding) => finding.check !== check && finding.state === 'ok')).toBe(true);
  },
);

test('one broker of several does not respond: that one is named', async ({ service }) => {
  const [alive] = servers().kafkaBrokers;
  let report!: Awaited<ReturnType<typeof examine>>;
  const found = async () => {
    report = await examine({ ...service.env, HEADRACE_KAFKA_BROKERS: `${alive},${nowhere}` });
    return problems(report);
  };
  await eventually(found).toMatchObject([
    { check: 'kafka connection', found: expect.stringContaining(nowhere) },
  ]);
  expect(report.code).toBe(1);
  expect(all(report, 'kafka rights')).toMatchObject([{ state: 'ok' }]);
});

test('a wrong setting is told without a connection', async ({ service }) => {
  for (const command of [['doctor'], ['config', 'check']]) {
    const report = await examine({ ...service.env, HEADRACE_THREADS: 'many' }, command);
    expect(report.code).toBe(1);
    expect(problems(report)).toMatchObject([{ found: 'HEADRACE_THREADS: expected a whole number' }]);
    expect(all(report, 'kafka connection')).toEqual([]);
  }
  expect((await examine(service.env, ['config', 'check'])).code).toBe(0);
});

test('topics that are not as configured, and an index that is gone, are told with what to do', async ({
  service,
  driver,
}) => {
  const { config } = service;
  const rows = topicName(config, 'rows');
  const admin = createKafka(config, silent).admin();
  await admin.connect();
  await admin.alterConfigs({
    validateOnly: false,
    resources: [{ type: 2, name: rows, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] }],
  });
  await admin.createPartitions({ topicPartitions: [{ topic: topicName(config, 'devices'), count: 16 }] });
  await admin.disconnect();
  await driver.db.collection(collections.jobs).dropIndex('by_kind');
  let report!: Awaited<ReturnType<typeof examine>>;
  const found = (check: string) => all(report, check).map((finding) => finding.found);
  // A broker applies changes some time after it has answered.
  const ofKafka = async () => {
    report = await examine(service.env);
    return [found('kafka topics').join(), found('mongodb data').join()];
  };
  await eventually(ofKafka).toEqual([
    expect.stringContaining(`${rows}: cleanup.policy is compact`),
    expect.stringMatching(/written with 4 partitions of \S+, which has 16/),
  ]);
  expect(report.code).toBe(1);
  expect(found('mongodb indexes')).toEqual(['missing: jobs.by_kind']);
  expect(problems(report).every(({ advice }) => advice)).toBe(true);
});
