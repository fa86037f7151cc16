/** `headrace up --servers-only` on this machine: its own real servers, beside the shared ones. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identify, isRunning } from '../../deploy/local/process-identity.ts';
import { readState } from '../../deploy/local/state.ts';
import { eventually } from '../support/eventually.ts';
import { keepOwnPorts } from '../support/own-ports.ts';
import { lastJsonLine, type Outcome, runHeadrace } from '../support/run-headrace.ts';
import { takePort } from '../support/take-port.ts';

interface Described {
  kafka_brokers: string[];
  mongo_url: string;
  s3: {
    endpoint: string;
    region: string;
    bucket: string;
    admin: { access_key_id: string; secret_access_key: string };
  };
  processes: Record<'kafka' | 'mongod' | 's3', number>;
}

let state: string;
const up = async (): Promise<[Described, Outcome]> => {
  const outcome = await runHeadrace(['up', '--servers-only', '--detach', '--json', '--state', state]);
  expect(outcome.stderr, outcome.stderr).toContain('up after');
  expect(outcome.code).toBe(0);
  return [lastJsonLine<Described>(outcome), outcome];
};
const down = (...args: string[]) => runHeadrace(['down', '--state', state, ...args]);
const portOf = (address: string) => Number(/:(\d+)/.exec(address.replace(/^\w+:\/\//, ''))?.[1]);

function storage({ s3 }: Described): S3Client {
  const credentials = { accessKeyId: s3.admin.access_key_id, secretAccessKey: s3.admin.secret_access_key };
  return new S3Client({ endpoint: s3.endpoint, region: s3.region, credentials, forcePathStyle: true });
}

async function withMongo<T>(described: Described, work: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = await MongoClient.connect(described.mongo_url, { serverSelectionTimeoutMS: 60_000 });
  return work(client).finally(() => client.close());
}

beforeAll(async () => {
  state = mkdtempSync(join(tmpdir(), 'headrace-local-'));
  await keepOwnPorts(state);
});
afterAll(async () => {
  await down('--purge', '--yes');
  rmSync(state, { recursive: true, force: true });
});

describe('the local stack', () => {
  let first: Described;

  test('starts three servers, and keeps its secrets where only their owner reads them', async () => {
    [first] = await up();
    expect(statSync(join(state, 'state.json')).mode & 0o777).toBe(0o600);
    await withMongo(first, (client) =>
      client.db('x').collection<{ _id: string }>('x').insertOne({ _id: 'kept' }),
    );
    const client = storage(first);
    await client.send(new PutObjectCommand({ Bucket: first.s3.bucket, Key: 'a/b', Body: 'kept' }));
    client.destroy();
  });

  test('status tells what runs', async () => {
    const address = first.kafka_brokers[0];
    const status = async () => {
      const { code, stdout } = await runHeadrace(['status', '--json', '--state', state]);
      const { kafka, api } = JSON.parse(stdout).processes;
      return { code, kafka, api };
    };
    await eventually(status).toMatchObject({
      code: 1,
      kafka: { pid: first.processes.kafka, running: true, healthy: true, address },
      api: { pid: null, running: false, healthy: false },
    });
  });

  test('a process that dies while it starts is told with the end of its log, and what ran before goes on', async () => {
    const { code, stderr } = await runHeadrace(['up', '--detach', '--state', state], {
      HEADRACE_LOG_LEVEL: 'loud',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/(api|pipeline) exited during startup/);
    expect(stderr).toContain('HEADRACE_LOG_LEVEL: expected a pino level');
    expect(readState(state)?.state.processes).toMatchObject({ kafka: { pid: first.processes.kafka } });
    expect(Object.keys(readState(state)!.state.processes).sort()).toEqual(['kafka', 'mongod', 's3']);
    expect(isRunning(identify(first.processes.kafka))).toBe(true);
  });

  test('down stops exactly these, cleanly', async () => {
    const identities = [first.processes.kafka, first.processes.mongod, first.processes.s3].map(identify);
    expect(identities.every(isRunning)).toBe(true);
    const { code, stderr } = await down();
    expect(code).toBe(0);
    expect(stderr).not.toContain('killed');
    expect(identities.some(isRunning)).toBe(false);
    expect(statSync(join(state, 'data/kafka/logs/.kafka_cleanshutdown')).isFile()).toBe(true);
    expect(readState(state)?.state.processes).toEqual({});
  });

  test('while it is stopped, commands say which server does not answer, and nothing else', async () => {
    const mongod = `127.0.0.1:${portOf(first.mongo_url)}`;
    for (const [args, said] of [
      [['tap', 'jobs'], `Kafka does not answer at ${first.kafka_brokers[0]} (`],
      [['topics'], `Kafka does not answer at ${first.kafka_brokers[0]} (`],
      [['replay', '--dead-letters', '--yes'], `Kafka does not answer at ${first.kafka_brokers[0]} (`],
      [['replay', '--job', '1', '--yes'], `MongoDB does not answer at ${mongod} (`],
      [['admin', 'partner', 'list'], `MongoDB does not answer at ${mongod} (`],
    ] as const) {
      const { code, stdout, stderr } = await runHeadrace([...args, '--state', state]);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`headrace: ${said}`);
      expect(stderr.trimEnd().split('\n')).toHaveLength(2);
      expect(stderr).toContain('headrace up starts it');
    }
  });

  test('starts on the same data with the same ports, and beside ports that somebody has taken since', async () => {
    const taken = [portOf(first.mongo_url), portOf(first.kafka_brokers[0]!)];
    const strangers = await Promise.all(taken.map(takePort));
    try {
      const [again] = await up();
      expect(taken).not.toContain(portOf(again.mongo_url));
      expect(taken).not.toContain(portOf(again.kafka_brokers[0]!));
      expect(again.s3).toEqual(first.s3);
      const found = await withMongo(again, (client) =>
        client.db('x').collection<{ _id: string }>('x').findOne(),
      );
      expect(found).toEqual({ _id: 'kept' });
      const client = storage(again);
      const object = await client.send(new GetObjectCommand({ Bucket: again.s3.bucket, Key: 'a/b' }));
      expect(await object.Body!.transformToString()).toBe('kept');
      client.destroy();
    } finally {
      for (const free of strangers) await free();
    }
  });

  test('a pid that is somebody else’s by now is never signalled', async () => {
    const folder = readState(state)!;
    const real = folder.state.processes.s3!;
    folder.state.processes.s3 = { pid: process.pid, started: 'long ago' };
    folder.save();
    await down();
    expect(isRunning(identify(process.pid))).toBe(true);
    process.kill(real.pid, 'SIGTERM');
  });

  test('--purge removes the folder, if it is confirmed', async () => {
    const refused = await down('--purge');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('pass --yes to confirm')]);
    expect(statSync(state).isDirectory()).toBe(true);
    const { code, stderr } = await down('--purge', '--yes');
    expect(code).toBe(0);
    expect(stderr).toMatch(new RegExp(`removed ${state}: data, logs and secrets, [\\d.]+ MB`));
    expect(statSync(state, { throwIfNoEntry: false })).toBeUndefined();
  });
});
