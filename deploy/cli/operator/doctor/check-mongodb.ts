/** Checks MongoDB: connection, kind of deployment, version, clock, rights, indexes, disk space. */
import type { Db } from 'mongodb';
import { mongoHosts } from '../../../../pipeline/runtime/errors.ts';
import { storedPlacement } from '../../../../pipeline/sets/placement.ts';
import { createCounterStore } from '../../../../pipeline/stores/counters.ts';
import { missingIndexes } from '../../../../pipeline/stores/indexes.ts';
import { connectMongo, type Mongo, requireReplicaSet } from '../../../../pipeline/stores/mongo.ts';
import type { Config } from '../../../../schemas/config.ts';
import { collections } from '../../../../schemas/documents.ts';
import { about, clockFinding, examine, type Finding, unless } from './findings.ts';

const connection = about('mongodb connection');
const versionFinding = about('mongodb version');
const rights = about('mongodb rights');
const indexes = about('mongodb indexes');
const data = about('mongodb data');
const disk = about('mongodb disk');

const ADDRESS = 'check HEADRACE_MONGO_URL: hosts, user, password, replicaSet, tls';
const RIGHTS =
  'give the user of HEADRACE_MONGO_URL the role readWrite on the database HEADRACE_MONGO_DATABASE';
const oldestVersion = 6;
/** Actions that the service needs on every collection; changeStream is for the API. */
const neededActions = [
  'find',
  'insert',
  'update',
  'remove',
  'createCollection',
  'createIndex',
  'changeStream',
];
const FULL_SHARE = 0.85;

async function checkServer({ db, client }: Mongo, hosts: string): Promise<Finding[]> {
  const before = Date.now();
  const { localTime, hosts: members = [], msg } = await db.admin().command({ hello: 1 });
  const after = Date.now();
  const { version } = await client.db().admin().buildInfo();
  const kind = msg === 'isdbgrid' ? 'a sharded cluster' : `a replica set of ${members.length}`;
  const isOld = Number(version.split('.')[0]) < oldestVersion;
  return [
    connection.ok(`${hosts} responds: ${kind}`),
    isOld
      ? versionFinding.warning(`MongoDB ${version}`, `upgrade: tested with ${oldestVersion}.0 and newer`)
      : versionFinding.ok(`MongoDB ${version}`),
    clockFinding('mongodb clock', { before, after, theirs: (localTime as Date).getTime() }),
  ];
}

interface Privilege {
  resource: { db?: string; collection?: string; anyResource?: boolean };
  actions: string[];
}

async function checkRights(db: Db): Promise<Finding[]> {
  const { authInfo } = await db.command({ connectionStatus: 1, showPrivileges: true });
  const users = authInfo.authenticatedUsers as { user: string }[];
  if (users.length === 0)
    return [
      rights.warning(
        'MongoDB has no authentication: anyone who reaches it has full access',
        'enable authorization in MongoDB, and name a user in HEADRACE_MONGO_URL',
      ),
    ];
  const privileges = authInfo.authenticatedUserPrivileges as Privilege[];
  const mayIn = (collection: string, action: string) =>
    privileges.some(
      ({ resource, actions }) =>
        actions.includes(action) &&
        (resource.anyResource ||
          (['', db.databaseName].includes(resource.db ?? '?') &&
            ['', collection].includes(resource.collection ?? '?'))),
    );
  const lacking = neededActions.flatMap((action) => {
    const names = Object.values(collections).filter((name) => !mayIn(name, action));
    return names.length > 0 ? [`${action} in ${names.join(', ')}`] : [];
  });
  return unless(
    lacking.map((what) => rights.problem(`${users[0]!.user} may not ${what}`, RIGHTS)),
    rights.ok(`${users[0]!.user} has all permissions the service needs`),
  );
}

async function checkIndexes(db: Db): Promise<Finding[]> {
  const missing = await missingIndexes(db);
  return unless(
    missing.map((name) =>
      indexes.warning(`missing: ${name}`, 'the API or the pipeline creates it at the start'),
    ),
    indexes.ok('all indexes exist'),
  );
}

/** The number of partitions is stored with the data, because it assigns slots to partitions. */
async function checkPartitions(db: Db, topic: string, partitions: number | undefined): Promise<Finding[]> {
  const kept = await createCounterStore(db).partitionCount();
  if (kept === undefined || partitions === undefined || kept === partitions) return [];
  return [
    data.problem(
      `it was written with ${kept} partitions of ${topic}, which has ${partitions}`,
      'the service does not start with a different number: recreate the topic with the number the data was written with',
    ),
  ];
}

async function checkSlots(db: Db, wanted: number): Promise<Finding[]> {
  const { slotCount, partitionCount } = createCounterStore(db);
  const [slots, partitions] = await Promise.all([slotCount(), partitionCount()]);
  if (partitions === undefined || slots === wanted) return [];
  return [
    data.problem(
      `it was written with ${slots} slots, but HEADRACE_SLOTS is ${wanted}`,
      `set HEADRACE_SLOTS to ${slots}`,
    ),
  ];
}

async function checkRoom(db: Db): Promise<Finding[]> {
  const { fsUsedSize, fsTotalSize } = await db.command({ dbStats: 1, freeStorage: 0 });
  if (!fsTotalSize) return [];
  const share = fsUsedSize / fsTotalSize;
  const text = `the disk of MongoDB is ${Math.round(share * 100)}% full`;
  if (share < FULL_SHARE) return [disk.ok(text)];
  return [disk.warning(text, 'add disk space: with a full disk every job waits')];
}

export async function checkMongodb(
  config: Config,
  devices: { topic: string; partitions: number | undefined },
): Promise<Finding[]> {
  const mongo = await connectMongo(config);
  try {
    const hosts = mongoHosts(config.mongoUrl);
    const connection = await examine('mongodb connection', ADDRESS, async () => {
      await requireReplicaSet(mongo).catch((error) => {
        throw mongo.problem() ?? error;
      });
      return checkServer(mongo, hosts);
    });
    if (connection.some(({ state }) => state === 'problem')) return connection;
    const layout = 'load the files again into another database (HEADRACE_MONGO_DATABASE)';
    return [
      ...connection,
      ...(await examine('mongodb rights', RIGHTS, () => checkRights(mongo.db))),
      ...(await examine('mongodb indexes', RIGHTS, () => checkIndexes(mongo.db))),
      ...(await examine('mongodb data', layout, async () => [
        ...(await checkPartitions(mongo.db, devices.topic, devices.partitions)),
        ...(await checkSlots(mongo.db, config.slots)),
      ])),
      ...(await examine('mongodb data', 'restore all collections from one backup', async () => {
        await storedPlacement(mongo.db);
        return [];
      })),
      ...(await examine('mongodb disk', RIGHTS, () => checkRoom(mongo.db))),
    ];
  } finally {
    await mongo.close();
  }
}
