/** The stores that the stages share, each over one collection. */
import type { Db } from 'mongodb';
import type { JobDocument } from '../../schemas/documents.ts';
import { createAckStore } from './acks.ts';
import { clearedAmong, ensureAudience, type LoadResult, recordLoad } from './audiences.ts';
import { createCheckStore } from './checks.ts';
import { createFileStore } from './files.ts';
import { createJobContexts } from './job-contexts.ts';
import { createJobStore } from './jobs.ts';
import { createLedgerStore } from './ledger.ts';
import { createRejectStore } from './rejects.ts';
import { createSpillStore } from './spills.ts';

export const createStores = (db: Db) => ({
  jobs: createJobStore(db),
  files: createFileStore(db),
  ledger: createLedgerStore(db),
  audiences: {
    ensure: (job: JobDocument) => ensureAudience(db, job),
    recordLoad: (job: JobDocument, result: LoadResult) => recordLoad(db, job, result),
    clearedAmong: (jobs: JobDocument[]) => clearedAmong(db, jobs),
  },
  acks: createAckStore(db),
  checks: createCheckStore(db),
  spills: createSpillStore(db),
  rejects: createRejectStore(db),
  contexts: createJobContexts(db),
});

export type Stores = ReturnType<typeof createStores>;
