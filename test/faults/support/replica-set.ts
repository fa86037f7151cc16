/** A replica set of three mongods, whose primary can be told to step down. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { cached } from '../../../deploy/local/cache.ts';
import { startDetached, stopProcess } from '../../../deploy/local/child.ts';
import { mongodDownload } from '../../../deploy/local/mongod.ts';
import { anyFreePort } from '../../../deploy/local/ports.ts';
import type { ProcessIdentity } from '../../../deploy/local/process-identity.ts';
import { waitFor } from '../../support/wait-for.ts';

const NAME = 'rs3';

export interface ReplicaSet {
  readonly url: string;
  readonly hosts: readonly string[];
  /** The one that there is, or the next one. */
  primary(): Promise<string>;
  signal(host: string, name: NodeJS.Signals): void;
  /** Starts one that was killed, on its old port and data. */
  revive(host: string): void;
  /** Resolves when another member is primary; gives its address. */
  stepDown(): Promise<string>;
  close(): Promise<void>;
}

export async function startReplicaSet(): Promise<ReplicaSet> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-replicas-'));
  const home = await cached(mongodDownload, () => {}, new AbortController().signal);
  const taken = new Set<number>();
  const processes: ProcessIdentity[] = [];
  const start = (i: number, port: number) => {
    const data = join(directory, String(i));
    mkdirSync(data, { recursive: true });
    const args = ['--replSet', NAME, '--bind_ip', '127.0.0.1', '--port', String(port), '--nounixsocket'];
    const small = ['--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '128'];
    const log = join(directory, `${i}.log`);
    processes[i] = startDetached(join(home, 'mongod'), [...args, '--dbpath', data, ...small], { log });
  };
  for (let i = 0; i < 3; i++) {
    const port = await anyFreePort(taken);
    taken.add(port);
    start(i, port);
  }
  const hosts = [...taken].map((port) => `127.0.0.1:${port}`);
  const direct = async <T>(
    host: string,
    work: (admin: (command: Document) => Promise<Document>) => Promise<T>,
  ) => {
    const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {
      serverSelectionTimeoutMS: 2_000,
    });
    try {
      await client.connect();
      return await work((command) => client.db('admin').command(command));
    } finally {
      await client.close();
    }
  };
  const primary = async () => {
    for (const host of hosts) {
      const hello = await direct(host, (admin) => admin({ hello: 1 })).catch(() => null);
      if (hello?.isWritablePrimary) return host;
    }
    return undefined;
  };
  const config = {
    _id: NAME,
    members: hosts.map((host, _id) => ({ _id, host })),
    settings: { electionTimeoutMillis: 2_000, heartbeatIntervalMillis: 500 },
  };
  await waitFor(() => direct(hosts[0]!, (admin) => admin({ replSetInitiate: config })), {
    what: 'three mongods',
  });
  await waitFor(primary, { what: 'a primary' });
  return {
    url: `mongodb://${hosts.join(',')}/?replicaSet=${NAME}`,
    hosts,
    primary: () => waitFor(primary, { what: 'a primary' }),
    signal: (host, name) => process.kill(processes[hosts.indexOf(host)]!.pid, name),
    revive: (host) => start(hosts.indexOf(host), Number(host.split(':')[1])),
    async stepDown() {
      const old = await waitFor(primary, { what: 'a primary' });
      const order = { replSetStepDown: 20, secondaryCatchUpPeriodSecs: 5, force: true };
      await direct(old, (admin) => admin(order)).catch(() => {});
      const isOther = async () => {
        const now = await primary();
        return now !== undefined && now !== old ? now : undefined;
      };
      return waitFor(isOther, { what: 'another primary', deadlineMs: 30_000 });
    },
    async close() {
      await Promise.all(processes.map((one) => stopProcess(one, 1_000)));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
