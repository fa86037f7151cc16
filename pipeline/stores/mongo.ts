/** One client per process. Writes are majority and journaled, so acknowledged writes survive any single crash. */
import { type Db, type Document, MongoServerSelectionError } from 'mongodb';
import { createRetry, isTransient } from '../engine/retry.ts';
import { mongoHosts, StartRefused, serverDown } from '../runtime/errors.ts';
import { type MongoSettings, mongoRefusal } from './mongo-refusals.ts';
import { MongoClient } from './patched-mongodb.ts';

/**
 * The driver connects at the first call. If that fails because MongoDB is not up yet, it never retries: every later call finds a closed
 * topology. So we retry until it has connected once; from then on it reconnects by itself. Callers get the same error and log it.
 */
const untilConnected = createRetry(undefined, { when: () => true, firstMs: 200, maxMs: 200, ref: false });

/** Background work fails a call early, logs it, and retries. Commands and requests have a single attempt, so they wait longer. */
export const SERVICE_WAITS_MS = 3_000;

/** Batch size of long cursors; by default the server sends batches of 16 MB. */
export const READ_AT_ONCE = 1_000;

export interface Mongo {
  client: MongoClient;
  db: Db;
  /** The last error while not connected. */
  problem(): unknown;
  /** Throws what a failed call means: access refused, MongoDB does not answer, or the error itself. */
  fail(error: unknown): Promise<never>;
  close(): Promise<void>;
}

/** A call waits for a server as long as configured, but not longer than `maxWaitMs`. */
export async function connectMongo(
  config: MongoSettings,
  maxWaitMs = Number.POSITIVE_INFINITY,
): Promise<Mongo> {
  const { mongoUsername, mongoPassword } = config;
  const waitMs = Math.min(config.limitBackendMs, maxWaitMs);
  const client = new MongoClient(config.mongoUrl, {
    appName: 'headrace',
    ...(mongoUsername ? { auth: { username: mongoUsername, password: mongoPassword } } : {}),
    serverSelectionTimeoutMS: waitMs,
    connectTimeoutMS: Math.max(waitMs, SERVICE_WAITS_MS),
    // A frozen or unreachable server must cause an error, not a call that never returns.
    socketTimeoutMS: 60_000,
    waitQueueTimeoutMS: Math.max(waitMs, 10_000),
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    ignoreUndefined: true,
    maxPoolSize: 32,
  });
  const closing = new AbortController();
  let problem: unknown;
  const connect = async () => {
    try {
      await client.connect();
      problem = undefined;
    } catch (error) {
      problem = error;
      throw error;
    }
  };
  untilConnected('connect to MongoDB', connect, closing.signal).catch(() => {});
  return {
    client,
    db: client.db(config.mongoDatabase),
    problem: () => problem,
    async fail(error) {
      const refusal = await mongoRefusal(config, [error, problem]);
      if (refusal) throw refusal;
      throw isTransient(error) ? serverDown('MongoDB', mongoHosts(config.mongoUrl), problem ?? error) : error;
    },
    async close() {
      closing.abort();
      await client.close();
    },
  };
}

/** Majority writes need a replica set; a sharded cluster consists of replica sets. */
export async function requireReplicaSet({ db, problem, fail }: Mongo): Promise<void> {
  const hello = await db
    .admin()
    .command({ hello: 1 })
    .catch(async (error: unknown) => {
      // If the URL names a replica set, the driver removes servers that are in none, until none is left.
      const cause = problem();
      if (cause instanceof MongoServerSelectionError && cause.reason?.servers.size === 0)
        return {} as Document;
      return fail(error);
    });
  if (hello.setName === undefined && hello.msg !== 'isdbgrid')
    throw new StartRefused(
      'HEADRACE_MONGO_URL: this MongoDB is not a replica set; expected a replica set (mongod --replSet) or a sharded cluster',
    );
}
