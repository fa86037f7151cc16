/** What jobs leave in the counts of an audience when they end, in whatever order their acks are summed up. */
import { Binary } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { packNumbers } from '../../pipeline/formats/number-table.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { nothing } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import { createEndJobs, type Ending } from '../../pipeline/stages/dispatch/commit/end-jobs.ts';
import { noChange } from '../../pipeline/stages/sink/drop-job.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { EVERYONE, type JobDocument } from '../../schemas/job-documents.ts';
import { emptyDatabase, openDatabase } from '../sets/database.ts';
import { recordedStep } from '../support/recorded-step.ts';
import { aJob } from '../support/recording-environment.ts';

const database = openDatabase();
const step = recordedStep('dispatch');
const SLOT = 0;
const AUDIENCE = 1;

beforeEach(() => emptyDatabase(database.db));

function openScene() {
  const stores = createStores(database.db);
  const log = createLogger({ logLevel: 'silent' }, 'test');
  const endJobs = createEndJobs({ ...stores, log, slots: 1, issueReceipt: async () => {} });
  const decided = nothing();
  const jobs = new Map<number, JobDocument>();

  async function store(job: JobDocument): Promise<void> {
    jobs.set(job._id, job);
    await stores.jobs.insert([job]);
  }
  /** Every slot has merged it. */
  async function load(_id: number, devices: number): Promise<void> {
    const job = { _id, audience: AUDIENCE, listing: `l${_id}`, requestToken: `t${_id}` };
    await store(aJob({ ...job, ...decided, phase: 'decided' }));
    await stores.audiences.ensure(jobs.get(_id)!);
    const added = { uniqueDevices: devices, newDevices: devices, matchedDevices: devices };
    await stores.acks.recordAndAdvance([{ ...noChange(_id, SLOT, devices), ...added }]);
  }
  async function erase(_id: number, devices: number, partner = 'p1'): Promise<void> {
    const job = { _id, partner, audience: null, generation: null, requestToken: `t${_id}` };
    await store(aJob({ ...job, ...decided, kind: 'privacy', privacy: 'delete', phase: 'decided' }));
    const audiences = new Binary(packNumbers([[AUDIENCE, 1, devices, devices]]));
    await stores.acks.recordAndAdvance([{ ...noChange(_id, SLOT, 0), uniqueDevices: devices, audiences }]);
  }
  const conclude = async (job: number): Promise<Ending> => (await endJobs.conclude(jobs.get(job)!, step))!;
  const end = (...endings: Ending[]) => endJobs.end(endings, step);
  const counts = async () => {
    const [audience] = await stores.audiences.findAll([AUDIENCE]);
    return [audience!.uniqueDevices, audience!.matchedDevices];
  };
  return { load, erase, conclude, end, counts };
}

it('a load and two requests that are summed up in another order than theirs', async () => {
  const { load, erase, conclude, end, counts } = openScene();
  await load(1, 10);
  await erase(2, 3);
  await erase(3, 4);
  const third = await conclude(3);
  const second = await conclude(2);
  await end(await conclude(1));
  await end(second, third);
  expect(await counts()).toEqual([3, 3]);
});

it('a request of everyone’s that ends before a load of which it has removed devices', async () => {
  const { load, erase, conclude, end, counts } = openScene();
  await load(1, 10);
  await erase(2, 3, EVERYONE);
  await end(await conclude(2));
  await end(await conclude(1));
  expect(await counts()).toEqual([7, 7]);
});
