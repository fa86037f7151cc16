/** A long listing is stored page by page: it resumes where a dispatcher crashed, and a zombie adds nothing to it. */
import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { createListFiles } from '../../pipeline/stages/dispatch/list/list-files.ts';
import { jobCollection } from '../../pipeline/stores/jobs/job-collection.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { collections } from '../../schemas/documents.ts';
import type { FileDocument, JobDocument } from '../../schemas/job-documents.ts';
import { createGate, openDatabase } from '../sets/database.ts';
import { setUpStorage } from '../sources/storage-fixture.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const storage = setUpStorage();
const JOB = 7;
const PAGE = 2;
const names = ['a', 'b', 'c', 'd', 'e'];
let folder = '';

beforeEach(async () => {
  await database.db.dropDatabase();
  // In older servers, a transaction cannot create the collection.
  await database.db.createCollection(collections.files);
  await jobCollection(database.db).insertOne(aJob({ kind: 'import', audience: null, compressed: false }));
  folder = `${randomBytes(4).toString('hex')}/`;
  for (const name of names) await storage.put(folder + name, `${name}\n`);
});

interface Given {
  addPage?: (add: JobStore['addPage']) => JobStore['addPage'];
  maxFiles?: number;
}

function createLister({ addPage = (add) => add, maxFiles = 100 }: Given = {}) {
  const stores = createStores(database.db);
  const asked: (string | undefined)[] = [];
  const store = storage.storeWith({ listPage: PAGE });
  const lister = createListFiles({
    ...stores,
    jobs: { ...stores.jobs, addPage: addPage(stores.jobs.addPage) },
    sourceOf: async () => ({
      store: {
        ...store,
        list(bucket, prefix, options) {
          asked.push(options?.after);
          return store.list(bucket, prefix, options);
        },
      },
      bucket: storage.bucket,
      key: storage.folder + folder,
    }),
    cancellationOf: async () => undefined,
    quotas: { admit: async () => undefined },
    maxFiles,
    batchBytes: 1_000,
    fileWindow: 3,
  });
  const list = async () => lister((await stores.jobs.find(JOB))!, recordedStep('dispatch'));
  return { list, asked, ...stores };
}

async function expectWhole(job: JobDocument): Promise<void> {
  const files = await database.db
    .collection<FileDocument>(collections.files)
    .find({ job: JOB })
    .sort({ number: 1 })
    .toArray();
  expect(files.map(({ path }) => path)).toEqual(names.map((name) => storage.folder + folder + name));
  expect(files.map(({ number }) => number)).toEqual([0, 1, 2, 3, 4]);
  expect(new Set(files.map(({ listing }) => listing))).toEqual(new Set([job.listing]));
  expect(job).toMatchObject({ phase: 'listed', fileCount: 5, bytes: 10 });
  expect(job.listed).toBeUndefined();
}

const dying = (at: number) => (add: JobStore['addPage']) => {
  let pages = 0;
  return async (...page: Parameters<JobStore['addPage']>) => {
    if (++pages === at) throw new Error('a crash');
    return add(...page);
  };
};

it('all pages, in their order', async () => {
  const { list } = createLister();
  await expectWhole((await list()).job);
});

it('a successor asks only for what comes behind the last page that is stored', async () => {
  await expect(createLister({ addPage: dying(2) }).list()).rejects.toThrow('a crash');
  const { list, asked } = createLister();
  await expectWhole((await list()).job);
  expect(asked).toEqual([`${storage.folder}${folder}b`]);
});

it('a dispatcher that was frozen adds nothing to a page that its successor has stored, and takes the list as it is', async () => {
  const gate = createGate();
  const frozen = createLister({
    addPage:
      (add) =>
      async (...page) => {
        await gate.wait();
        return add(...page);
      },
  });
  const late = frozen.list();
  await gate.reached;
  const { job } = await createLister().list();
  // If the zombie's view of the storage counted, there would be a sixth file.
  await storage.put(`${folder}bb`, 'bb\n');
  gate.open();
  expect((await late).job.listing).toBe(job.listing);
  await expectWhole(job);
});

it('two dispatchers at once store each page once', async () => {
  const listed = await Promise.all([createLister().list(), createLister().list()]);
  for (const { job } of listed) await expectWhole(job);
});

it('a page that was stored without our hearing of it is not stored again', async () => {
  let isFirst = true;
  const { list } = createLister({
    addPage:
      (add) =>
      async (...page) => {
        const isStored = await add(...page);
        const isHeard = !isFirst;
        isFirst = false;
        return isHeard && isStored;
      },
  });
  await expectWhole((await list()).job);
});

it('too many files: told as soon as they are found', async () => {
  const { list } = createLister({ maxFiles: 3 });
  expect(await list()).toMatchObject({ problem: { code: 'too_many_files' } });
});
