/** Every store, the shape of calls to it, and their subject. */
import type { Db } from 'mongodb';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import type { AudienceDocument } from '../../schemas/documents.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';

export function createAllStores(db: Db) {
  // Excluded: `changes` follows the oplog, which has no index.
  const { changes: _, ...api } = createApiStores(db);
  return {
    ...api,
    ...createStores(db),
    crashes: createCrashStore(db),
    sets: createDeviceSets(db),
  };
}

type AllStores = ReturnType<typeof createAllStores>;
type Calls<Method> = Method extends (...args: infer Args) => unknown ? Args[] : never;
export type StoreCalls = {
  [Store in keyof AllStores]: { [Method in keyof AllStores[Store]]: Calls<AllStores[Store][Method]> };
};

/** The documents that the calls refer to. */
export interface Subject {
  partner: string;
  /** The first load of an audience, ended; and a job of each other kind and phase. */
  job: JobDocument;
  accepted: JobDocument;
  loading: JobDocument;
  decidedJob: JobDocument;
  audience: AudienceDocument;
}
