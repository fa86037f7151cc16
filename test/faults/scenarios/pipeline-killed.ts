/**
 * kill -9 of the pipeline before and after each write, produce and offset commit of every stage. Each process resumes what the last
 * one left and dies at the next fault point. One point per stage in a short round; FAULT_POINTS=all takes all,
 * FAULT_POINTS=sink:before-ack,… takes those.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { collections } from '../../../schemas/documents.ts';
import { ids } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { FaultFixture } from '../support/fixture.ts';
import { type FaultPoint, faultPoints, orderAt, pointsOf } from '../support/points.ts';
import type { Random } from '../support/random.ts';
import { removeRecords } from '../support/remove-records.ts';
import { unfinished, untilAllEnded } from '../support/settle.ts';

/** Steps that a process takes only for jobs that were already waiting when it started. */
const needsWaitingJobs = (point: FaultPoint) => /forget-lists|republish/.test(point);

/** Some points depend on timing, which a host that stalls may miss. */
const ROUNDS = 3;

export function pipelineKilled(faults: FaultFixture, random: Random): void {
  const { api: _, ...stages } = faultPoints;
  /** Steps taken only after several failures; poisoned-job.ts and stopped-job.ts cover them. */
  const afterFailures = /give-up|-stop$|-drop$/;
  const reachable = Object.values(stages).map((of) => of.filter((point) => !afterFailures.test(point)));
  const points = pointsOf(reachable.flat(), () => reachable.map((of) => random.pick<FaultPoint>(of)));

  /** Jobs of every kind, so that every point is reached, and small jobs of another partner. */
  async function queueSome(point: FaultPoint): Promise<void> {
    const { lane } = faults;
    const { driver } = faults.service;
    const neighbour = faults.service.lanes[1]!;
    const size = /spill|progress/.test(point) ? 60_000 : 2_000;
    const folder = `round-${lane.asked.length}/`;
    const path = await lane.upload('attributes', size, folder);
    await lane.upload('attributes', 200, folder);
    await lane.upload('attributes', 300, folder);
    await lane.upload('attributes', 400, folder);
    await lane.ask({ kind: 'import', path, compressed: null, own: true });
    await lane.ask({ kind: 'import', path: folder, compressed: false, own: false });
    await neighbour.ask({ kind: 'create', path: await neighbour.upload('audience', 100) });
    const { id } = await lane.ask({ kind: 'create', path: await lane.upload('audience', size) });
    await lane.ask({ kind: 'append', audience: id!, path: await lane.upload('audience', 3_000) });
    await lane.ask({
      kind: 'privacy',
      type: 'delete',
      identifiers: lane.devices(lane.asked.length * 100, 3_000),
    });
    await lane.ask({ kind: 'import', path, compressed: null, own: false });
    await lane.ask({
      kind: 'privacy',
      type: 'restore',
      identifiers: lane.devices(lane.asked.length * 100, 500),
    });
    // Privacy jobs of all partners are unordered with the others, so this one uses other devices.
    await driver.privacy('delete', null, ids(30));
    await lane.ask({ kind: 'delete', attributes: [lane.attributes[0]!, lane.attributes[1]!] });
    // Dispatch cancels a load only while its files are being read: earlier it lists nothing, later it drops the devices.
    const isCancelled = /cancel/.test(point);
    const clearedPath = await lane.upload('audience', isCancelled ? 300_000 : 20_000);
    const cleared = await lane.ask({ kind: 'create', path: clearedPath });
    if (isCancelled)
      await waitFor(async () => (await driver.jobs.findOne({ _id: cleared.id! }))?.phase !== 'accepted', {
        what: 'a load whose files are listed',
        progress: driver.openJobs,
      });
    await lane.ask({ kind: 'clear', audience: cleared.id! });
    await lane.ask({ kind: 'append', audience: cleared.id!, path: await lane.upload('audience', 100) });
    const small = await neighbour.upload('attributes', 100);
    await neighbour.ask({ kind: 'import', path: small, compressed: null, own: false });
  }

  async function start(point: FaultPoint): Promise<void> {
    if (needsWaitingJobs(point)) await queueSome(point);
    if (/republish/.test(point)) await removeRecords(faults.service.driver.config, 'jobs');
    faults.pipeline.start({ FAULT_POINT: orderAt(point, 'kill') });
    if (!needsWaitingJobs(point)) await queueSome(point);
  }

  /** Usage counts every load once, even if the process that counted died. */
  const totalOf = (collection: string, filter: object) =>
    faults.service.driver.db
      .collection(collection)
      .aggregate([
        { $match: filter },
        {
          $group: {
            _id: null,
            bytes: { $sum: { $ifNull: ['$unpackedBytes', '$bytes'] } },
            rows: { $sum: '$rows' },
          },
        },
      ])
      .toArray();

  it(`dies at ${points.length} points, and every job ends`, {
    timeout: 2_700_000 + points.length * 180_000,
  }, async () => {
    const { driver } = faults.service;
    const open = () => driver.jobs.countDocuments(unfinished);
    const missed: FaultPoint[] = [];
    let deathsInRow = 0;
    await faults.killPipeline();
    for (const point of points) {
      const began = performance.now();
      await start(point);
      for (let rounds = 1; ; rounds++) {
        await waitFor(async () => !faults.pipeline.running || (await open()) === 0, {
          what: `a death at ${point}`,
          progress: driver.openJobs,
        });
        // Offset commits come up to half a second after a job's end, and later on a slow machine.
        await Promise.race([faults.pipeline.gone(), sleep(60_000)]);
        if (!faults.pipeline.running || rounds === ROUNDS) break;
        await queueSome(point);
      }
      if (faults.pipeline.running) missed.push(point);
      await faults.killPipeline();
      deathsInRow++;
      // After three deaths in a row on the same message its job would count as poisoned, so every third process finishes the work.
      if (/^(split|validate):/.test(point) || deathsInRow === 2) {
        faults.pipeline.start();
        await untilAllEnded(driver);
        await faults.killPipeline();
        deathsInRow = 0;
      }
      if (process.env.FAULT_POINTS) console.info(`${point}: ${Math.round(performance.now() - began)} ms`);
    }
    faults.pipeline.start();
    await untilAllEnded(driver);
    expect(await totalOf(collections.usage, {})).toEqual(
      await totalOf(collections.jobs, { phase: 'ended', kind: { $in: ['import', 'audience'] } }),
    );
    expect(missed, 'points that were not reached').toEqual([]);
  });
}
