/**
 * A copy of MongoDB or Kafka is restored, or an empty Kafka replaces the old one, with jobs that have ended, are waiting or are in
 * flight. The jobs in the database then end once and exactly; nothing of jobs that it does not know is merged; new jobs are exact.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { asking, findTopics, withCluster } from '../../../pipeline/kafka/cluster.ts';
import { commitOffset, offsetsAt } from '../../../pipeline/kafka/offsets.ts';
import { groupName, topicName } from '../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { collections } from '../../../schemas/documents.ts';
import type { ManifestDocument } from '../../../schemas/stage-documents.ts';
import { stageInputs } from '../../../schemas/topics.ts';
import { isFrozen, type Managed } from '../../support/processes.ts';
import { asMembers, file, ids } from '../../support/rows.ts';
import { runAdmin } from '../../support/run-admin.ts';
import { lastJsonLine } from '../../support/run-headrace.ts';
import { patient } from '../../support/settings.ts';
import { setNames } from '../../support/stored-sets.ts';
import { waitFor } from '../../support/wait-for.ts';
import { copyData, emptyData } from '../support/copies.ts';
import { expelAll } from '../support/expel.ts';
import { type FaultFixture, setUpFaults } from '../support/fixture.ts';
import { createLane, type Lane } from '../support/lane.ts';
import type { Random } from '../support/random.ts';
import type { OwnServers } from '../support/servers.ts';
import { unfinished, violationsOf } from '../support/settle.ts';
import { submitByRest } from '../support/submit.ts';

interface Restored {
  lost_jobs: { job: number; partner_id: string }[];
}

/** Servers go down only with all processes, so no call has to fail soon. */
const more = { ...patient, HEADRACE_TEST_STALL_MS: '3000' };

/** Freezes the pipeline in the middle of jobs, with more jobs queued behind them. */
async function freezeInFlight({ service }: FaultFixture, random: Random): Promise<void> {
  const { jobs } = service.driver;
  const load = service.load({ mostOpen: 1_000 });
  await service.answered(12);
  const isBusy = async () => (await jobs.findOne({ phase: 'ended' })) && (await service.unfinished()) > 2;
  await waitFor(isBusy, { what: 'ended jobs, and some in flight', everyMs: 5 });
  await sleep(random.below(500));
  for (const pipeline of service.pipelines) pipeline.signal('SIGSTOP');
  await service.answered(8);
  await load.stop();
}

async function killAll({ service }: FaultFixture): Promise<void> {
  await Promise.all([...service.apis, ...service.pipelines].map((one) => one.kill()));
}

async function startAll({ service }: FaultFixture): Promise<void> {
  const all = [...service.apis, ...service.pipelines];
  for (const managed of all) managed.start();
  await Promise.all(all.map((one) => one.ready()));
}

async function runRestored({ service }: FaultFixture): Promise<Restored> {
  // Killed processes would stay members of their groups until the session timeout.
  await expelAll(service.driver.config);
  const restored = async () => {
    const outcome = await runAdmin(['restored', '--json'], service.settings);
    return outcome.code === 0 ? lastJsonLine<Restored>(outcome) : undefined;
  };
  return waitFor(restored, { what: 'headrace admin restored' });
}

const newestJob = async ({ service }: FaultFixture) =>
  (await service.driver.jobs.find().sort({ _id: -1 }).limit(1).next())?._id ?? 0;

export function olderMongo(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, { on, more });

  it('no process starts before the operator has said so; then the jobs of the copy and new ones end exactly', async () => {
    const { service, servers } = faults;
    const { driver, lanes, apis, pipelines } = service;
    await freezeInFlight(faults, random);
    const copy = await copyData(servers, 'mongod');
    const known = await newestJob(faults);
    const asked = lanes.map((lane) => lane.asked.length);
    for (const pipeline of pipelines) pipeline.signal('SIGCONT');
    const load = service.load();
    await waitFor(() => driver.jobs.findOne({ _id: known + 1, phase: 'ended' }), {
      what: 'the end of a job that the copy does not know',
    });
    await load.stop();
    await freezeInFlight(faults, random);
    const lost = await newestJob(faults);
    expect(await driver.jobs.countDocuments({ ...unfinished, _id: { $gt: known } })).toBeGreaterThan(0);
    await killAll(faults);

    await copy.putBack();
    expect(await newestJob(faults)).toBe(known);
    expect(await driver.jobs.countDocuments({ phase: 'ended' })).toBeGreaterThan(0);
    expect(await driver.jobs.countDocuments(unfinished)).toBeGreaterThan(0);
    for (const managed of [...apis, ...pipelines]) {
      managed.start();
      await managed.gone();
      expect(readFileSync(managed.log, 'utf8')).toMatch(/headrace admin restored/);
    }
    const restored = await runRestored(faults);
    const numbers = Array.from({ length: lost - known }, (_, i) => known + 1 + i);
    expect(restored.lost_jobs.map(({ job }) => job)).toEqual(numbers);
    const partners = lanes.map(({ partner }) => partner._id);
    expect(restored.lost_jobs.filter(({ partner_id }) => !partners.includes(partner_id))).toEqual([]);

    await startAll(faults);
    const submit = submitByRest(driver, () => apis.map(({ url }) => url), service.counts);
    const newLanes: Lane[] = [await createLane(driver, submit, random.fork())];
    const after = lanes.map((lane) => lane.asked.length);
    for (let n = 0; n < 5; n++) for (const lane of newLanes) await lane.step();
    for (const lane of lanes) await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!] });
    const kept = lanes.map((lane, i) => ({
      ...lane,
      asked: [...lane.asked.slice(0, asked[i]), ...lane.asked.slice(after[i])],
    }));
    expect(await violationsOf(driver, [...kept, ...newLanes])).toEqual([]);
    // Partners have seen these job numbers: they are not used again, and nothing of these jobs is stored.
    const ofLost = { $gt: known, $lte: lost };
    expect(await driver.jobs.countDocuments({ _id: ofLost, phase: 'withdrawn' })).toBe(lost - known);
    const manifests = driver.db.collection<ManifestDocument>(collections.manifests);
    expect(await manifests.countDocuments({ job: ofLost })).toBe(0);
    expect(await driver.audiences.countDocuments({ _id: ofLost })).toBe(0);
  });

  it('rows of a lost job that nobody has read are not taken for those of the next job', async () => {
    const { service, servers } = faults;
    const { driver, pipelines, apis } = service;
    const [pipeline] = pipelines as [Managed];
    const submit = submitByRest(driver, () => apis.map(({ url }) => url), service.counts);
    const create = async (devices: string[]) => {
      const partner = await driver.partner();
      await driver.upload(partner, 'a.csv', file(devices, 'seen'));
      return (await submit(partner, { kind: 'create', path: 'a.csv' }))!;
    };
    const copy = await copyData(servers, 'mongod');
    await pipeline.kill();
    await expelAll(driver.config);
    pipeline.start({ FAULT_POINT: 'validate:before-devices:1:stop' });
    await pipeline.ready();
    await create(ids(100));
    await waitFor(() => isFrozen(pipeline), { what: 'validate before the devices of the lost job' });
    await killAll(faults);
    await copy.putBack();
    await runRestored(faults);
    await startAll(faults);
    const devices = ids(50);
    const audience = await create(devices);
    expect(await driver.ended(audience)).toMatchObject({ status: 2, rows: 50, uniqueDevices: 50 });
    expect(await driver.members(setNames.audience(audience, 1))).toEqual(asMembers(devices));
  });
}

export function olderKafka(on: () => OwnServers, random: Random): void {
  const faults = setUpFaults(random, { on, more });
  const log = createLogger({ logLevel: 'silent' }, 'test');

  async function endsExactly(): Promise<void> {
    const { service } = faults;
    await startAll(faults);
    const load = service.load();
    await service.answered(5);
    await load.stop();
    await faults.expectExact();
  }

  /** The state of brokers that lost the end of a log but kept its consumers' offsets. */
  async function commitBeyondEnds(): Promise<void> {
    const { config } = faults.service.driver;
    await expelAll(config);
    await withCluster(config, log, async (cluster) => {
      for (const { topic, stage } of stageInputs) {
        const name = topicName(config, topic);
        await findTopics(cluster, [name]);
        const ends = await asking(cluster, () => offsetsAt(cluster, [name], 'end'));
        for (const [partition, end] of ends.get(name)!)
          await commitOffset(cluster, groupName(config, stage), name, {
            partition,
            offset: String(end + 1_000n),
          });
      }
    });
  }

  it('an empty Kafka: every job ends exactly', async () => {
    await freezeInFlight(faults, random);
    await killAll(faults);
    await emptyData(faults.servers, 'kafka');
    await endsExactly();
  });

  it('an empty Kafka, and an audience that was cleared after its load was decided: the load says so', async () => {
    const { driver, pipelines } = faults.service;
    const [pipeline] = pipelines as [Managed];
    await pipeline.kill();
    await expelAll(driver.config);
    pipeline.start({ FAULT_POINT: 'dispatch:after-decide:1:stop' });
    await pipeline.ready();
    const partner = await driver.partner();
    await driver.upload(partner, 'a.csv', file(ids(100), 'seen'));
    const audience = await driver.createAudience(partner, 'a.csv');
    await waitFor(() => isFrozen(pipeline), { what: 'dispatch after its decision' });
    await driver.clear(partner, audience);
    await killAll(faults);
    await emptyData(faults.servers, 'kafka');
    await startAll(faults);
    const nothing = { rows: 0, accepted: 0, uniqueDevices: 0, newDevices: 0 };
    expect(await driver.ended(audience)).toMatchObject({
      status: 3,
      errors: [{ code: 'cancelled' }],
      ...nothing,
    });
  });

  it('an older Kafka, and committed offsets beyond the ends of its logs: every job ends exactly', async () => {
    await freezeInFlight(faults, random);
    const copy = await copyData(faults.servers, 'kafka');
    for (const pipeline of faults.service.pipelines) pipeline.signal('SIGCONT');
    await freezeInFlight(faults, random);
    await killAll(faults);
    await copy.putBack();
    await commitBeyondEnds();
    await endsExactly();
  });
}
