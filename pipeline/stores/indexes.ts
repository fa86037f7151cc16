/** All indexes of all collections. The first process to start creates them and drops those of earlier versions. */
import { type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import { isTransient } from '../engine/retry.ts';

/** How long a repeated request gets the response of the first. */
const IDEMPOTENCY_SECONDS = 24 * 3_600;

const DRY_RUN_SECONDS = 24 * 3_600;
/** Privacy requests: longer than a request waits; and how long the result of an access request can be fetched. */
const IDENTIFIER_SECONDS = 30 * 24 * 3_600;
const RESULT_SECONDS = 7 * 24 * 3_600;

/** Partial, not sparse: a sparse compound index would have an entry for every import, too. */
const ofAudience = { audience: { $gt: 0 } };

/** For documents that hold a place (places.ts), or a field of them that does. */
const placesUnder = (path: '' | 'claim.'): IndexDescription[] => [
  {
    key: { [`${path}partner`]: 1, [`${path}place`]: 1 },
    name: 'by_place',
    unique: true,
    partialFilterExpression: { [`${path}place`]: { $exists: true } },
  },
  {
    key: { [`${path}partner`]: 1, [`${path}customer`]: 1, [`${path}customerPlace`]: 1 },
    name: 'by_customer_place',
    unique: true,
    partialFilterExpression: { [`${path}customerPlace`]: { $exists: true } },
  },
];

const indexes: Partial<Record<keyof typeof collections, IndexDescription[]>> = {
  jobs: [
    { key: { partner: 1, kind: 1, _id: -1 }, name: 'by_partner' },
    // Immutable fields: a job costs one index write, when it is accepted.
    { key: { kind: 1, _id: -1 }, name: 'by_kind' },
    { key: { partner: 1, kind: 1, phase: 1, audience: 1, generation: 1 }, name: 'by_phase' },
    { key: { phase: 1, _id: 1 }, name: 'unfinished' },
    {
      key: { partner: 1, kind: 1, status: 1, _id: -1 },
      name: 'failed',
      partialFilterExpression: { status: JobStatus.error },
    },
    { key: { audience: 1, _id: 1 }, name: 'loads', partialFilterExpression: ofAudience },
    { key: { requestToken: 1 }, name: 'request_token', unique: true, sparse: true },
    {
      key: { endNumber: 1 },
      name: 'ends',
      unique: true,
      partialFilterExpression: { endNumber: { $exists: true } },
    },
    {
      key: { statusUnpublished: 1, _id: 1 },
      name: 'unpublished',
      partialFilterExpression: { statusUnpublished: true },
    },
  ],
  files: [
    { key: { job: 1, number: 1 }, name: 'by_job' },
    {
      key: { audience: 1, generation: 1, path: 1, job: -1 },
      name: 'by_path',
      partialFilterExpression: ofAudience,
    },
    {
      key: { audience: 1, generation: 1, identity: 1 },
      name: 'by_identity',
      partialFilterExpression: ofAudience,
    },
  ],
  audiences: [
    { key: { partner: 1, _id: -1 }, name: 'by_partner' },
    { key: { partner: 1, customer: 1, _id: -1 }, name: 'by_customer' },
    { key: { segment: 1 }, name: 'segment', unique: true },
    { key: { clearedAt: 1 }, name: 'cleared', sparse: true },
    {
      key: { partner: 1, outcome: 1, _id: -1 },
      name: 'failed',
      partialFilterExpression: { outcome: JobStatus.error },
    },
  ],
  attributes: [
    { key: { partner: 1, _id: 1 }, name: 'by_partner' },
    {
      key: { partner: 1, foreignKey: 1 },
      name: 'by_foreign_key',
      unique: true,
      partialFilterExpression: { foreignKey: { $exists: true } },
    },
    { key: { madePrivateAt: 1 }, name: 'made_private', sparse: true },
  ],
  apiKeys: [{ key: { partner: 1 }, name: 'by_partner' }],
  tokenKeys: [{ key: { partner: 1, createdAt: -1 }, name: 'by_partner' }],
  audit: [
    { key: { at: -1 }, name: 'by_time' },
    { key: { partner: 1, at: -1 }, name: 'by_partner' },
  ],
  counters: [{ key: { expiresAt: 1 }, name: 'expiry', sparse: true, expireAfterSeconds: 0 }],
  // Unique, so that only one of two dispatchers can assign a number.
  eventValues: [{ key: { audience: 1, generation: 1, number: 1 }, name: 'by_number', unique: true }],
  idempotency: [{ key: { createdAt: 1 }, name: 'expiry', expireAfterSeconds: IDEMPOTENCY_SECONDS }],
  compositions: placesUnder('claim.'),
  compositionRows: [
    { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
    { key: { audience: 1, generation: 1 }, name: 'by_audience' },
  ],
  dryRuns: [
    { key: { createdAt: 1 }, name: 'expiry', expireAfterSeconds: DRY_RUN_SECONDS },
    { key: { status: 1, _id: 1 }, name: 'unfinished' },
    ...placesUnder(''),
  ],
  webhooks: [
    { key: { partner: 1, place: 1 }, name: 'by_place', unique: true },
    { key: { partner: 1, url: 1 }, name: 'by_url', unique: true },
    { key: { isActive: 1 }, name: 'active', partialFilterExpression: { isActive: true } },
  ],
  deliveries: [
    // Recording is idempotent: one event per job and webhook.
    {
      key: { webhook: 1, job: 1 },
      name: 'by_job',
      unique: true,
      partialFilterExpression: { job: { $gt: 0 } },
    },
    { key: { webhook: 1, _id: -1 }, name: 'by_webhook' },
    { key: { webhook: 1, status: 1, _id: -1 }, name: 'by_status' },
    { key: { status: 1, webhook: 1, dueAt: 1, _id: 1 }, name: 'due' },
    { key: { status: 1, giveUpAt: 1 }, name: 'pending', partialFilterExpression: { status: 'pending' } },
    { key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 },
  ],
  endedSessions: [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }],
  ledger: [{ key: { job: 1, attempt: 1, file: 1, batch: 1 }, name: 'by_batch' }],
  rejects: [
    { key: { job: 1, file: 1, batch: 1 }, name: 'by_file' },
    { key: { hashes: 1 }, name: 'by_hash', sparse: true },
  ],
  identifierLists: [
    { key: { list: 1, part: 1 }, name: 'by_list' },
    { key: { createdAt: 1 }, name: 'expiry', expireAfterSeconds: IDENTIFIER_SECONDS },
  ],
  requestResults: [
    { key: { job: 1, slot: 1 }, name: 'by_job' },
    { key: { createdAt: 1 }, name: 'expiry', expireAfterSeconds: RESULT_SECONDS },
  ],
  receipts: [{ key: { expiresAt: 1 }, name: 'expiry', expireAfterSeconds: 0 }],
  signingKeys: [{ key: { createdAt: -1, _id: -1 }, name: 'newest' }],
  votes: [{ key: { job: 1 }, name: 'by_job' }],
  filePairs: [{ key: { job: 1, page: 1 }, name: 'by_page' }],
  verdicts: [{ key: { job: 1 }, name: 'by_job' }],
  spills: [
    { key: { slot: 1, job: 1, range: 1 }, name: 'by_range' },
    { key: { job: 1 }, name: 'by_job' },
  ],
  // By space for a cleared audience, by slot for a device. Both fields are immutable.
  manifests: [
    { key: { space: 1 }, name: 'by_space' },
    { key: { slot: 1 }, name: 'by_slot' },
  ],
};

/** A changed index gets a new name, and the old one is listed here. */
const retired: Partial<Record<keyof typeof collections, string[]>> = {
  jobs: ['by_audience', 'status_unpublished'],
  files: ['by_audience'],
  spills: ['by_slot'],
  manifests: ['set_1_slot_1', 'slot_1_set_1'],
};

/**
 * No compression for data that does not compress. A look-up reads one page of about 3 KB, so WiredTiger must not read 32 KB for it. On disk
 * a leaf takes whole allocation units, so these must be small.
 */
const storage = {
  pages: 'leaf_page_max=8KB,allocation_size=512B,block_compressor=none',
  spills: 'block_compressor=none',
};

async function create(db: Db, name: keyof typeof storage): Promise<void> {
  const storageEngine = { wiredTiger: { configString: storage[name] } };
  await db.createCollection(collections[name], { storageEngine }).catch((error: unknown) => {
    // The collection exists, or the server does not allow storage options: it is then created with defaults.
    if (!(error instanceof MongoServerError) || isTransient(error)) throw error;
  });
}

export async function ensureIndexes(db: Db): Promise<void> {
  await Promise.all([create(db, 'pages'), create(db, 'spills')]);
  for (const [name, wanted] of Object.entries(indexes)) {
    const collection = db.collection(collections[name as keyof typeof collections]);
    await collection.createIndexes(wanted);
    for (const old of retired[name as keyof typeof collections] ?? []) await dropIndex(collection, old);
  }
}

/** Missing indexes, such as `jobs.by_partner`. */
export async function missingIndexes(db: Db): Promise<string[]> {
  const missing = Object.entries(indexes).map(async ([key, wanted]) => {
    const name = collections[key as keyof typeof collections];
    const there = await db
      .collection(name)
      .indexes()
      .catch((error: { codeName?: string }) => {
        if (error.codeName === 'NamespaceNotFound') return [];
        throw error;
      });
    const names = new Set(there.map((index) => index.name));
    return wanted.filter((index) => !names.has(index.name)).map((index) => `${name}.${index.name}`);
  });
  return (await Promise.all(missing)).flat();
}

async function dropIndex(collection: Collection, name: string): Promise<void> {
  await collection.dropIndex(name).catch((error: { codeName?: string }) => {
    if (error.codeName !== 'IndexNotFound') throw error;
  });
}
