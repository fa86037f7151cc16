/** Events are recorded once per job and webhook, however recorders and registrations interleave. */
import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { beforeAll, expect, it } from 'vitest';
import { createManageWebhooks, type WithSecret } from '../../api/resources/webhooks/manage-webhooks.ts';
import { createRecordEvents } from '../../api/resources/webhooks/record-events.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { numbered } from '../../pipeline/accept/new-job.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';
import type { DeliveryDocument } from '../../schemas/webhook-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { endJobs, insertEnded } from '../support/end-jobs.ts';
import { readConfigFile } from '../support/env-file.ts';

const database = openDatabase();
const config = parseConfig(readConfigFile('minimal.env'));
const { signal } = new AbortController();
const jobsOf = (db: Db) => db.collection<JobDocument>(collections.jobs);
let jobs = 0;
beforeAll(() => ensureIndexes(database.db));

const request = { kind: 'import', filePath: 'a', pathType: 0, keyType: 0, compressed: null } as const;

/** Ends jobs as dispatch does. */
async function end(partner: string, count: number): Promise<void> {
  const ended = Array.from({ length: count }, () => numbered({ ...request, partner }, ++jobs, 0, new Date()));
  await insertEnded(
    database.db,
    ended.map((job) => ({ ...job, status: JobStatus.done })),
  );
}

function scene() {
  const stores = createApiStores(database.db);
  const manage = createManageWebhooks({ ...stores, config });
  const register = async (partner: string) => {
    const url = `https://hooks.acme.example/${randomBytes(4).toString('hex')}`;
    return ((await manage.register(partner, { url, description: null })) as WithSecret).webhook;
  };
  /** The jobs with a delivery to the webhook. */
  const told = async (webhook: number) => {
    const found = database.db.collection<DeliveryDocument>(collections.deliveries).find({ webhook });
    return (await found.sort({ _id: 1 }).toArray()).map(({ job }) => job);
  };
  return { stores, register, told };
}
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

it('a webhook that is registered while events are recorded misses none that end after its registration', async () => {
  const { stores, register, told } = scene();
  const early = await register('p-a');
  await end('p-a', 3);
  let late: Awaited<ReturnType<typeof register>> | undefined;
  // Between the recorder's read and its write.
  const insert: typeof stores.deliveries.insert = async (...args) => {
    if (!late) {
      late = await register('p-a');
      await end('p-a', 2);
    }
    return stores.deliveries.insert(...args);
  };
  await createRecordEvents({ ...stores, deliveries: { ...stores.deliveries, insert } })(signal);
  await createRecordEvents(stores)(signal);
  expect(await told(early._id)).toEqual(range(1, 5));
  expect(await told(late!._id)).toEqual(range(4, 5));
});

it('a recorder that dies, or comes late, records nothing twice', async () => {
  const { stores, register, told } = scene();
  const webhook = await register('p-b');
  const first = jobs + 1;
  await end('p-b', 2_500);
  const die = () => Promise.reject(new Error('killed'));
  const dying = createRecordEvents({
    ...stores,
    counters: { ...stores.counters, moveRecorded: die },
  });
  await expect(dying(signal)).rejects.toThrow('killed');
  const recorders = [1, 2, 3].map(() => createRecordEvents(stores)(signal));
  await Promise.all(recorders);
  const found = await told(webhook._id);
  expect(found.toSorted((a, b) => a! - b!)).toEqual(range(first, jobs));
});

it('events are recorded in the order of the ends, not of the job numbers', async () => {
  const { stores, register, told } = scene();
  const webhook = await register('p-c');
  const [first, second, third] = [jobs + 1, jobs + 2, jobs + 3];
  const accepted = range(first, third).map((id) =>
    numbered({ ...request, partner: 'p-c' }, id, 0, new Date()),
  );
  jobs = third;
  await jobsOf(database.db).insertMany(accepted);
  const record = createRecordEvents(stores);
  await endJobs(database.db, [third]);
  await record(signal);
  expect(await told(webhook._id)).toEqual([third]);
  // A webhook registered now gets the event of an older job that ends later.
  const late = await register('p-c');
  await endJobs(database.db, [second]);
  await endJobs(database.db, [first]);
  await record(signal);
  expect(await told(webhook._id)).toEqual([third, second, first]);
  expect(await told(late._id)).toEqual([second, first]);
});
