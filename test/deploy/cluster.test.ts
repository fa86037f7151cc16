/** `headrace up --brokers 3 --members 3`: a real cluster on this machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadEnvironment } from '../../deploy/cli/environment.ts';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { keepOwnPorts } from '../support/own-ports.ts';
import { lastJsonLine, runHeadrace } from '../support/run-headrace.ts';
import { takePort } from '../support/take-port.ts';
import { waitFor } from '../support/wait-for.ts';

interface Described {
  kafka_brokers: string[];
  mongo_url: string;
  processes: Record<string, number>;
}
interface Status {
  processes: Record<string, { running: boolean; healthy: boolean }>;
}

const brokers = ['kafka', 'kafka-2', 'kafka-3'];
const members = ['mongod', 'mongod-2', 'mongod-3'];
const servers = [...brokers, 's3', ...members];

let state: string;
let first: Described;
const up = async (...args: string[]): Promise<Described> => {
  const outcome = await runHeadrace([
    'up',
    '--servers-only',
    '--detach',
    '--json',
    '--state',
    state,
    ...args,
  ]);
  expect(outcome.code, outcome.stderr).toBe(0);
  return lastJsonLine<Described>(outcome);
};
const statusOf = async (): Promise<Status['processes']> =>
  lastJsonLine<Status>(await runHeadrace(['status', '--json', '--state', state])).processes;

async function withMongo<T>(work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = await MongoClient.connect(first.mongo_url, { serverSelectionTimeoutMS: 60_000 });
  return work(client).finally(() => client.close());
}
/** Retries until it succeeds: a broker learns of a topic some time after the controller created it. */
const withAdmin = <T>(ask: (admin: ReturnType<Kafka['admin']>) => Promise<NonNullable<T>>) =>
  waitFor(
    async () => {
      const admin = new Kafka({ brokers: first.kafka_brokers, logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      return ask(admin).finally(() => admin.disconnect());
    },
    { what: 'an answer of a broker' },
  );
const partitions = () =>
  withAdmin(async (admin) => (await admin.fetchTopicMetadata({ topics: ['kept'] })).topics[0]!.partitions);

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'headrace-cluster-'));
  await keepOwnPorts(state, { brokers: 3, members: 3 });
});
afterAll(async () => {
  await runHeadrace(['down', '--purge', '--yes', '--state', state]);
  rmSync(state, { recursive: true, force: true });
});

test('starts three brokers and three members, and status shows each', async () => {
  first = await up('--brokers', '3', '--members', '3');
  expect(first.kafka_brokers).toHaveLength(3);
  const areHealthy = async () => {
    const processes = await statusOf();
    return servers.every((name) => processes[name]!.running && processes[name]!.healthy);
  };
  await waitFor(areHealthy, { what: 'a status of healthy servers' });
  expect(loadEnvironment(state)).toMatchObject({
    HEADRACE_REPLICATION_FACTOR: '3',
    HEADRACE_KAFKA_BROKERS: first.kafka_brokers.join(),
  });
});

test('topics have three replicas of which two must be in sync; the set has three members and elects quickly', async () => {
  await withAdmin(async (admin) => {
    await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 3 }], waitForLeaders: false });
    return true;
  });
  for (const { replicas } of await partitions()) expect([...replicas].sort()).toEqual([1, 2, 3]);
  const settings = await withAdmin((admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: 2, name: 'kept', configNames: ['min.insync.replicas'] }],
    }),
  );
  expect(settings.resources[0]!.configEntries[0]).toMatchObject({ configValue: '2' });
  // An election may interrupt both.
  const config = await waitFor(
    () =>
      withMongo(async (client) => {
        const kept = client.db('x').collection<{ _id: string }>('x');
        await kept.replaceOne({ _id: 'kept' }, {}, { upsert: true });
        return (await client.db('admin').command({ replSetGetConfig: 1 })).config;
      }),
    { what: 'the configuration of the set' },
  );
  expect(config.members).toHaveLength(3);
  expect(config.settings).toMatchObject({ electionTimeoutMillis: 3_000 });
});

test('a broker and a member that died show in status, and up starts them and nothing else, on their old ports', async () => {
  for (const name of ['kafka-2', 'mongod-3']) process.kill(first.processes[name]!, 'SIGKILL');
  const alive = ['kafka', 'kafka-3', 'mongod', 'mongod-2', 's3'];
  const isShown = async () => {
    const processes = await statusOf();
    return servers.every((name) => processes[name]!.healthy === alive.includes(name));
  };
  await waitFor(isShown, { what: 'a status that shows both deaths, and that the others answer' });
  const free = await takePort(Number(first.kafka_brokers[1]!.split(':')[1]));
  const refused = await runHeadrace(['up', '--servers-only', '--detach', '--state', state]).finally(free);
  expect(refused.stderr).toContain('kafka-2 cannot be restarted: its port');
  const again = await up();
  for (const name of servers)
    expect(again.processes[name] !== first.processes[name], name).toBe(
      ['kafka-2', 'mongod-3'].includes(name),
    );
  first = again;
});

test('a number of brokers that the data was not made for is refused', async () => {
  const outcome = await runHeadrace(['up', '--brokers', '1', '--detach', '--state', state]);
  expect(outcome.code).toBe(1);
  expect(outcome.stderr).toContain('made for --brokers 3, not 1');
});

test('down stops all, cleanly, and the next up goes on with the same data', async () => {
  const identities = servers.map((name) => identify(first.processes[name]!));
  expect(identities.every(isRunning)).toBe(true);
  const { stderr } = await runHeadrace(['down', '--state', state]);
  expect(stderr).not.toContain('killed');
  expect(identities.some(isRunning)).toBe(false);
  first = await up();
  expect(await partitions()).toHaveLength(3);
  expect(await withMongo((client) => client.db('x').collection<{ _id: string }>('x').findOne())).toEqual({
    _id: 'kept',
  });
});
