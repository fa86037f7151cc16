/** Jobs, for commands that otherwise read only Kafka. */
import { LRUCache } from 'lru-cache';
import { cached } from '../../../pipeline/runtime/cached.ts';
import { createJobStore } from '../../../pipeline/stores/jobs/jobs.ts';
import { connectMongo } from '../../../pipeline/stores/mongo.ts';
import type { OperatorConfig } from '../../../schemas/config.ts';
import type { JobDocument } from '../../../schemas/job-documents.ts';

const MAX_REMEMBERED = 10_000;

interface JobLookUp {
  find(id: number): Promise<JobDocument | null>;
  /** Cached, because the partner of a job never changes. */
  partnerOf(id: number): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function openJobs(config: OperatorConfig): Promise<JobLookUp> {
  const mongo = await connectMongo(config);
  const jobs = createJobStore(mongo.db);
  const partners = new LRUCache<number, Promise<string | undefined>>({ max: MAX_REMEMBERED });
  const find = (id: number) => jobs.find(id).catch(mongo.fail);
  return {
    find,
    partnerOf: (id) => cached(partners, id, async () => (await find(id))?.partner),
    close: mongo.close,
  };
}
