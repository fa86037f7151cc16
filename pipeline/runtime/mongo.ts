/** One client a process. Writes are majority and journaled: what was acknowledged survives any single crash. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Db, type Document, MongoServerSelectionError } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import { MongoClient } from './mongodb.ts';
import { StartRefused } from './start-refused.ts';

const AGAIN_MS = 200;

export interface Mongo {
  client: MongoClient;
  db: Db;
  /** Why it has not been connected yet. */
  problem(): unknown;
  close(): Promise<void>;
}

export async function connectMongo(config: Config): Promise<Mongo> {
  const client = new MongoClient(config.mongoUrl, {
    appName: 'headrace',
    serverSelectionTimeoutMS: Math.min(3_000, config.limitBackendMs),
    connectTimeoutMS: 3_000,
    // A paused or unreachable server must show as an error, not as a call that never returns.
    socketTimeoutMS: 60_000,
    waitQueueTimeoutMS: 10_000,
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    ignoreUndefined: true,
    maxPoolSize: 32,
  });
  const closing = new AbortController();
  let problem: unknown;
  void connectAtLast(client, closing.signal, (error) => {
    problem = error;
  });
  return {
    client,
    db: client.db(config.mongoDatabase),
    problem: () => problem,
    async close() {
      closing.abort();
      await client.close();
    },
  };
}

/**
 * The driver connects with the first call. If that fails, because MongoDB is not there yet, it never tries again by itself: every
 * later call finds its topology closed. So it is told to, until it has been connected once; from then on it looks after itself.
 */
async function connectAtLast(
  client: MongoClient,
  signal: AbortSignal,
  onProblem: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.connect();
      onProblem(undefined);
      return;
    } catch (error) {
      onProblem(error);
      // Whoever needs the database meets the same error, and tells it.
      await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

/** Majority writes mean something only in a replica set; a sharded cluster is made of them. */
export async function requireReplicaSet({ db, problem }: Mongo): Promise<void> {
  const hello = await db
    .admin()
    .command({ hello: 1 })
    .catch((error: unknown) => {
      // Where the URL names a replica set, the driver passes over servers that are in none, until there is nobody left to ask.
      const cause = problem();
      if (cause instanceof MongoServerSelectionError && cause.reason?.servers.size === 0)
        return {} as Document;
      throw error;
    });
  if (hello.setName === undefined && hello.msg !== 'isdbgrid')
    throw new StartRefused(
      'HEADRACE_MONGO_URL: this MongoDB is no replica set; expected one (mongod --replSet) or a sharded cluster',
    );
}

/** What the stages look things up by. */
export async function ensurePipelineIndexes(db: Db): Promise<void> {
  await Promise.all([
    db.collection(collections.jobs).createIndexes([
      { key: { partner: 1, kind: 1, _id: -1 }, name: 'by_partner' },
      { key: { phase: 1, _id: 1 }, name: 'unfinished' },
      { key: { audience: 1, _id: 1 }, name: 'by_audience', sparse: true },
      { key: { statusUnpublished: 1 }, name: 'status_unpublished', sparse: true },
    ]),
    db.collection(collections.files).createIndexes([
      { key: { job: 1, number: 1 }, name: 'by_job' },
      { key: { audience: 1, generation: 1, path: 1 }, name: 'by_audience', sparse: true },
    ]),
    db
      .collection(collections.ledger)
      .createIndexes([{ key: { job: 1, file: 1, batch: 1 }, name: 'by_file' }]),
    db.collection(collections.acks).createIndexes([{ key: { job: 1 }, name: 'by_job' }]),
    db.collection(collections.checks).createIndexes([{ key: { job: 1 }, name: 'by_job' }]),
    db
      .collection(collections.rejects)
      .createIndexes([{ key: { job: 1, file: 1, batch: 1 }, name: 'by_file' }]),
    db.collection(collections.spills).createIndexes([{ key: { slot: 1, job: 1 }, name: 'by_slot' }]),
  ]);
}
