/** Processes may stop, crash, join and leave at any moment of a job: the result is exact. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { collections } from '../../schemas/documents.ts';
import { expelAll } from '../faults/support/expel.ts';
import type { Stalled } from '../sources/faulty-proxy.ts';
import { useServiceBehindProxy } from '../support/fixture.ts';
import { bigFile } from '../support/rows.ts';
import { startService } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

const { service, driver, proxy } = await useServiceBehindProxy({ parts: ['pipeline'] });

const FILES = 6;
const ROWS = 60_000;

interface Load {
  job: number;
  attribute: number;
  /** The last file stalls until it is released: until then the job is half done. */
  stalled: Stalled;
}

/** One prefix of several files; every second file repeats the one before it. */
async function queueLoad(): Promise<Load> {
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  let body: Buffer = Buffer.alloc(0);
  for (let i = 0; i < FILES; i++) {
    if (i % 2 === 0) body = bigFile(ROWS, attribute);
    await driver.upload(partner, `load/${i}.csv`, body);
  }
  const stalled = proxy.stall(`${partner.prefix}load/${FILES - 1}.csv`, 1_000_000);
  return { job: await driver.import(partner, 'load/', { compressed: false }), attribute, stalled };
}

async function expectExact({ job, attribute, stalled }: Load): Promise<void> {
  stalled.letGo();
  const unique = (FILES / 2) * ROWS;
  expect(await driver.ended(job)).toMatchObject({
    status: 2,
    rows: FILES * ROWS,
    uniqueDevices: unique,
    errors: null,
  });
  expect(await driver.sets.count(setNames.attribute(attribute))).toBe(unique);
  expect((await driver.members(setNames.attribute(attribute))).size).toBe(unique);
}

const begun = (job: number) =>
  waitFor(() => driver.db.collection(collections.ledger).findOne({ job }), { what: 'the first batch' });

it('a half-done job goes on after SIGTERM and a new start, and nothing is lost', async () => {
  const load = await queueLoad();
  await begun(load.job);
  expect(await service.pipeline.stop()).toBe(0);
  await service.restart('pipeline');
  await expectExact(load);
});

it('killed with -9 again and again in the middle of a job', async () => {
  const load = await queueLoad();
  for (let i = 0; i < 3; i++) {
    await sleep(300 + 500 * i);
    await service.kill('pipeline');
    await expelAll(service.config);
    await service.restart('pipeline');
  }
  await expectExact(load);
});

it('two processes share the work, one leaves and comes back during a job', async () => {
  const { HEADRACE_PIPELINE_PORT: _, ...env } = service.env;
  const second = await startService({ parts: ['pipeline'], env });
  try {
    const load = await queueLoad();
    await begun(load.job);
    await second.restart('pipeline');
    await expectExact(load);
  } finally {
    await second.stop();
  }
});
