/** After HEADRACE_SECRET was changed: seals with it what is still sealed with an old one. */
import type { Db } from 'mongodb';
import { collections, type JobDocument } from '../../schemas/documents.ts';
import { sealedWith, secretId } from '../runtime/seal.ts';
import { countOtherKeys } from '../stores/api-keys.ts';
import { openCredentials, sealCredentials } from './credentials.ts';
import { StoreFailure } from './store-errors.ts';

export interface Rotation {
  /** Jobs whose credentials were sealed again. */
  resealed: number;
  /** Jobs whose credentials no configured secret opens: they will end with `bad_credentials`. */
  unreadable: number[];
  /** API keys that are hashed again when they are used next; until then they need the old secret. */
  keysToCome: number;
}

/** May be repeated, and may run while the service does: a job that ends meanwhile keeps no credentials. */
export async function rotateSecret(db: Db, secrets: readonly Uint8Array[]): Promise<Rotation> {
  const [current] = secrets as [Uint8Array];
  const jobs = db.collection<JobDocument>(collections.jobs);
  const withCredentials = jobs
    .find({ phase: { $in: ['accepted', 'loading', 'sealed'] }, credentials: { $type: 'binData' } })
    .project<Pick<JobDocument, '_id' | 'partner' | 'credentials'>>({ partner: 1, credentials: 1 });
  let resealed = 0;
  const unreadable: number[] = [];
  for await (const job of withCredentials) {
    const { _id } = job;
    if (sealedWith(job.credentials!) === secretId(current)) continue;
    try {
      const credentials = sealCredentials(current, job, openCredentials(secrets, job));
      const { modifiedCount } = await jobs.updateOne(
        { _id, credentials: job.credentials! },
        { $set: { credentials } },
      );
      resealed += modifiedCount;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      unreadable.push(_id);
    }
  }
  return { resealed, unreadable, keysToCome: await countOtherKeys(db, current) };
}
