/**
 * The source of a job's files: the shared bucket under the partner's prefix, or the partner's own bucket with its credentials; for a
 * privacy request possibly a list in MongoDB.
 */
import { LRUCache } from 'lru-cache';
import type { Db } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { cached } from '../runtime/cached.ts';
import type { Logger } from '../runtime/log.ts';
import { secretsOf } from '../runtime/seal.ts';
import { createIdentifierListStore, type IdentifierListStore } from '../stores/identifier-lists.ts';
import { createPartnerStore, ProvisioningError } from '../stores/partners.ts';
import { createBucketProbe } from './bucket-probe.ts';
import { openCredentials, serviceCredentials } from './credentials.ts';
import { createObjectStore, type ObjectStore, StoreFailure } from './object-store.ts';
import { createPatience, type Patience } from './patience.ts';
import { connectStorage, type StorageClient } from './storage-client.ts';

const LIST_KEY = 'identifiers';

/** Presents a list of identifiers as the only object of a bucket, so that it is loaded like a file. */
function createListSource(
  lists: Pick<IdentifierListStore, 'size' | 'read'>,
  list: string,
  secrets: readonly Uint8Array[],
): ObjectStore {
  return {
    head: async () => ({ key: LIST_KEY, etag: list, size: await lists.size(list) }),
    list() {
      throw new StoreFailure('missing', 'A list of identifiers is one object.');
    },
    async *open(_bucket, _key, { from = 0, signal }) {
      let at = 0;
      for await (const bytes of lists.read(list, secrets)) {
        signal?.throwIfAborted();
        const skipped = Math.min(bytes.length, Math.max(0, from - at));
        at += bytes.length;
        if (skipped < bytes.length) yield bytes.subarray(skipped);
      }
    },
  };
}

interface JobSource {
  store: ObjectStore;
  bucket: string;
  /** The object key or prefix that the job was submitted with. */
  key: string;
}

const KEPT_CLOCKS = 10_000;
const KEPT_PREFIXES = 10_000;
/** Minimum bytes per second of a file, averaged over the storage deadline; a slower file fails with storage_too_slow. */
const MIN_RATE = 65_536;

export function createJobSources(
  config: Config,
  db: Db,
  log: Logger,
  onRetry: (error: unknown) => void = () => {},
) {
  const partners = createPartnerStore(db);
  const lists = createIdentifierListStore(db);
  const { s3IdleMs: idleMs, storageDeadlineMs: deadlineMs } = config;
  const sharedClient = connectStorage({
    endpoint: config.s3Endpoint,
    region: config.s3Region,
    credentials: serviceCredentials(config),
    idleMs,
  });
  const probe = createBucketProbe(config, log);
  const patiences = new LRUCache<string, Patience>({ max: KEPT_CLOCKS });
  // Twice as many as jobs are read at once: a client evicted while in use has to reconnect.
  const owned = new LRUCache<number, { client: StorageClient; store: ObjectStore }>({
    max: 2 * config.jobWindow,
    dispose: ({ client }) => client.close(),
  });
  const prefixes = new LRUCache<string, Promise<string>>({ max: KEPT_PREFIXES });

  async function prefixOf(partner: string): Promise<string> {
    try {
      return (await partners.find(partner)).prefix;
    } catch (error) {
      if (!(error instanceof ProvisioningError)) throw error;
      throw new StoreFailure('access_denied', `The job’s partner has no prefix: ${error.message}.`);
    }
  }

  /** Separate per partner and bucket, so that one partner's storage does not use up another's patience. */
  function patienceOf(partner: string, ownBucket?: string): Patience {
    const name = `${partner}/${ownBucket ?? ''}`;
    const known = patiences.get(name);
    if (known) return known;
    const isShared = ownBucket === undefined;
    const patience = createPatience({
      deadlineMs,
      minRate: MIN_RATE,
      log: log.child({ partner }),
      onRetry,
      ...(isShared ? { isReadable: probe.isReadable } : {}),
    });
    patiences.set(name, patience);
    return patience;
  }

  function own(job: JobDocument, bucket: string): ObjectStore {
    const known = owned.get(job._id);
    if (known) return known.store;
    const client = connectStorage({
      endpoint: config.partnerS3Endpoint,
      region: job.region ?? config.s3Region,
      credentials: openCredentials(secretsOf(config), job),
      idleMs,
    });
    const store = createObjectStore(client, patienceOf(job.partner, bucket), config);
    owned.set(job._id, { client, store });
    return store;
  }

  return {
    /** Rejects with a StoreFailure if the job's credentials cannot be opened or its partner is gone. */
    async sourceOf(job: JobDocument): Promise<JobSource> {
      if (job.identifiers !== undefined)
        return {
          store: createListSource(lists, job.identifiers, secretsOf(config)),
          bucket: '',
          key: LIST_KEY,
        };
      if (job.pathType === 0) {
        const prefix = await cached(prefixes, job.partner, () => prefixOf(job.partner));
        const key = prefix + job.filePath;
        const store = createObjectStore(sharedClient, patienceOf(job.partner), config);
        return { store, bucket: config.s3Bucket, key };
      }
      const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.*)$/s.exec(job.filePath) ?? [];
      return { store: own(job, bucket), bucket, key };
    },
    probe,
    close(): void {
      probe.close();
      sharedClient.close();
      owned.clear();
    },
  };
}
