/**
 * The primary of a replica set dies with jobs that no other member has replicated but another process has read: the next job must
 * not take a number above a lost one, because dispatch would wait for the gap forever.
 */
import { type Db, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { createAcceptQueue } from '../../../api/jobs/accept-queue.ts';
import { quickFailover } from '../../../deploy/local/mongod.ts';
import type { ImportRequest } from '../../../pipeline/accept/new-job.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { createCounterStore } from '../../../pipeline/stores/counters.ts';
import { createJobStore } from '../../../pipeline/stores/jobs/jobs.ts';
import { collections } from '../../../schemas/documents.ts';
import type { Settings } from '../../support/settings.ts';
import { waitFor } from '../../support/wait-for.ts';
import { setUpFaults } from '../support/fixture.ts';
import { freezeBy } from '../support/freeze.ts';
import { electAfter, primaryOf } from '../support/members.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers } from '../support/servers.ts';
import { createCaller } from '../support/submit.ts';

/** The primary must not step down before the test has written to it alone. */
const LONG_ELECTION_MS = 15_000;

export function primaryLost(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, {
    on,
    settingsOf: (part): Settings => (part === 'api' ? { FAULT_POINT: 'api:before-insert:1:stop' } : {}),
  });

  /** Waits for the member's local state, replicated or not. */
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

  /** The database with a gate before the insertion of jobs. */
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

    await electAfter(replicas, primary, LONG_ELECTION_MS);
    // The writer freezes before its write, because a primary without the other members steps down after some seconds.
    const ask = () =>
      call(writer!.url, { kind: 'import', path: 'nothing.csv', compressed: null, own: false });
    await freezeBy(writer!, ask, 'the writer before its write');
    // Killed, not frozen: a frozen member would read the primary's oplog from its socket when it wakes up.
    for (const name of others) replicas.signal(name, 'SIGKILL');
    writer!.signal('SIGCONT');
    await untilHeldBy(replicas.hostOf(primary), 1);
    const accepted = other.accept({ ...request, partner: partner._id });
    await door.reached;
    await writer!.kill();
    replicas.signal(primary, 'SIGKILL');

    // The two form a majority; they start in parallel, because each is ready only once there is a primary.
    await replicas.revive(others);
    door.open();
    expect((await accepted).job._id).toBe(1);
    writer!.start({ FAULT_POINT: '' });
    for (const lane of service.lanes) await lane.step('small');
    await faults.expectExact();
    await replicas.revive();
    await electAfter(replicas, await primaryOf(replicas), quickFailover.electionTimeoutMillis);
  });
}
