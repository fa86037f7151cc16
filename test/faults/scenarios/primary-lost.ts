/**
 * The primary of a replica set dies with jobs that no other member has, after another process has seen them: no number is built on
 * one that is lost. A number that is missing would be waited for by dispatch for ever.
 */
import { type Db, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { createAcceptQueue } from '../../../api/jobs/accept-queue.ts';
import type { ImportRequest } from '../../../pipeline/accept/new-job.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { createCounterStore } from '../../../pipeline/stores/counters.ts';
import { createJobStore } from '../../../pipeline/stores/jobs/jobs.ts';
import { collections } from '../../../schemas/documents.ts';
import { isFrozen } from '../../support/processes.ts';
import type { Settings } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';
import { setUpFaults } from '../support/fixture.ts';
import { primaryOf } from '../support/members.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers } from '../support/servers.ts';
import { createCaller } from '../support/submit.ts';

export function primaryLost(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, {
    on,
    settingsOf: (part): Settings => (part === 'api' ? { FAULT_POINT: 'api:before-insert:1:stop' } : {}),
  });

  /** What this member has, whether others have it or not. */
  async function untilHeldBy(host: string, jobs: number): Promise<void> {
    const client = new MongoClient(`mongodb://${host}/?directConnection=true`, { readConcernLevel: 'local' });
    const database = client.db(faults.service.driver.config.mongoDatabase);
    try {
      await waitFor(async () => (await database.collection(collections.jobs).countDocuments()) === jobs, {
        what: 'a job that only the primary has',
        everyMs: 5,
      });
    } finally {
      await client.close();
    }
  }

  /** The database, with a door before the insertion of jobs. */
  function withDoor(db: Db) {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let reach = () => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const collection = (name: string) => {
      const real = db.collection(name);
      const insertMany = real.insertMany.bind(real);
      real.insertMany = async (...args) => {
        reach();
        await opened;
        return insertMany(...args);
      };
      return real;
    };
    return { db: { collection } as unknown as Db, reached, open };
  }

  const request: Omit<ImportRequest, 'partner'> = {
    kind: 'import',
    filePath: 'nothing.csv',
    pathType: 0,
    keyType: 0,
    compressed: null,
  };

  it('the primary dies with a job that another process has seen, and so does the process that wrote it', async () => {
    const { service, servers: replicas } = faults;
    const { driver } = service;
    const [writer] = service.apis;
    const partner = await driver.partner();
    const call = await createCaller(driver, partner);
    const door = withDoor(driver.db);
    const log = createLogger({ logLevel: 'silent' }, 'test');
    const other = createAcceptQueue({
      jobs: createJobStore(door.db),
      counters: createCounterStore(door.db),
      publisher: driver.publisher,
      log,
      limitMs: 600_000,
    });
    const primary = await primaryOf(replicas);
    const others = replicas.members.filter((name) => name !== primary);

    // Frozen before its write: a primary without the others steps down after some seconds.
    call(writer!.url, { kind: 'import', path: 'nothing.csv', compressed: null, own: false }).catch(() => {});
    await waitFor(() => isFrozen(writer!), { what: 'the writer before its write' });
    // Killed, not frozen: what the primary has sent to a frozen one is read from the socket when it wakes up.
    for (const name of others) replicas.signal(name, 'SIGKILL');
    writer!.signal('SIGCONT');
    await untilHeldBy(replicas.hostOf(primary), 1);
    const accepted = other.accept({ ...request, partner: partner._id });
    await door.reached;
    await writer!.kill();
    replicas.signal(primary, 'SIGKILL');

    // The two make a majority: each is up when it knows a primary, so they start side by side.
    await replicas.revive(others);
    door.open();
    expect((await accepted).job._id).toBe(1);
    writer!.start({ FAULT_POINT: '' });
    for (const lane of service.lanes) await lane.step('small');
    await faults.expectExact();
    await replicas.revive();
  });
}
