/** Where a job's files are: the shared bucket under the partner's prefix, or the partner's own bucket with its credentials. */
import type { Db } from 'mongodb';
import type { Config } from '../../schemas/config.ts';
import type { JobDocument } from '../../schemas/documents.ts';
import { unseal } from '../runtime/seal.ts';
import { findPartner } from '../stores/partners.ts';
import { createObjectStore, type ObjectStore, StoreFailure } from './object-store.ts';

export interface JobSource {
  store: ObjectStore;
  bucket: string;
  /** The object, or the beginning of the objects' names, that the job was submitted with. */
  key: string;
}

/** Connections to partners' own buckets that are kept open. */
const KEPT = 20;

export function createJobSources(config: Config, db: Db) {
  const shared = createObjectStore({
    endpoint: config.s3Endpoint,
    region: config.s3Region,
    credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
    idleMs: config.s3IdleMs,
  });
  const owned = new Map<number, ObjectStore>();
  const prefixes = new Map<string, string>();

  async function prefixOf(partner: string): Promise<string> {
    const known = prefixes.get(partner);
    if (known !== undefined) return known;
    const { prefix } = await findPartner(db, partner);
    prefixes.set(partner, prefix);
    return prefix;
  }

  function openOwned(job: JobDocument): ObjectStore {
    const known = owned.get(job._id);
    if (known) return known;
    if (!job.credentials) throw new StoreFailure('bad_credentials', 'The job’s credentials are gone.');
    const store = createObjectStore({
      endpoint: config.s3Endpoint,
      region: job.region ?? config.s3Region,
      credentials: JSON.parse(unseal(config.secret, job.credentials)),
      idleMs: config.s3IdleMs,
    });
    owned.set(job._id, store);
    for (const [oldest, stale] of owned) {
      if (owned.size <= KEPT) break;
      stale.close();
      owned.delete(oldest);
    }
    return store;
  }

  return {
    async sourceOf(job: JobDocument): Promise<JobSource> {
      if (job.pathType === 0) {
        return { store: shared, bucket: config.s3Bucket, key: (await prefixOf(job.partner)) + job.filePath };
      }
      const [, bucket = '', key = ''] = /^s3:\/\/([^/]+)\/(.*)$/s.exec(job.filePath) ?? [];
      return { store: openOwned(job), bucket, key };
    },
    close(): void {
      shared.close();
      for (const store of owned.values()) store.close();
    },
  };
}
