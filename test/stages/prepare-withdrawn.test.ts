/** A load that is withdrawn, because its request gets an error, leaves no audience behind, whenever that happens. */
import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { createLogger } from '../../pipeline/runtime/log.ts';
import {
  createPrepareJob,
  type PrepareJobDependencies,
} from '../../pipeline/stages/dispatch/commit/prepare-job.ts';
import { createListFiles } from '../../pipeline/stages/dispatch/list/list-files.ts';
import type { OwnTurns } from '../../pipeline/stages/dispatch/turns.ts';
import { jobCollection } from '../../pipeline/stores/jobs/job-collection.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { collections } from '../../schemas/documents.ts';
import { openDatabase } from '../sets/database.ts';
import { setUpStorage } from '../sources/storage-fixture.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const storage = setUpStorage();
const scope = { partner: 'p1', customer: null };

beforeEach(async () => {
  await database.db.dropDatabase();
  await database.db.createCollection(collections.files);
});

/** Prepares a load; `withdrawn` says when its request fails. */
async function prepare(withdrawn: 'before' | 'while listing') {
  const stores = createStores(database.db);
  const folder = `${randomBytes(4).toString('hex')}/`;
  await storage.put(`${folder}a`, 'a\n');
  const job = aJob({ requestToken: 't' });
  await jobCollection(database.db).insertOne(job);
  const withdraw = async () => expect(await stores.jobs.withdraw([job])).toEqual(new Set());
  if (withdrawn === 'before') await withdraw();
  const store = storage.storeWith({});
  const cancellationOf = async () => undefined;
  const listFiles = createListFiles({
    ...stores,
    sourceOf: async () => ({
      store: {
        ...store,
        async *list(...args) {
          if (withdrawn === 'while listing') await withdraw();
          yield* store.list(...args);
        },
      },
      bucket: storage.bucket,
      key: storage.folder + folder,
    }),
    cancellationOf,
    quotas: { admit: async () => undefined },
    maxFiles: 10,
    batchBytes: 1_000,
    fileWindow: 3,
  });
  const deps = { ...stores, listFiles, cancellationOf, log: createLogger({ logLevel: 'silent' }, 'test') };
  const run = createPrepareJob(deps as unknown as PrepareJobDependencies);
  const turns = { step: recordedStep('dispatch'), earlierLoad: undefined } as unknown as OwnTurns;
  return { job: (await run(job, turns)).job, audience: await stores.audiences.find(scope, job._id) };
}

it.each(['before', 'while listing'] as const)('%s', async (when) => {
  const { job, audience } = await prepare(when);
  expect(job.phase).toBe('withdrawn');
  expect(audience).toBeNull();
});
