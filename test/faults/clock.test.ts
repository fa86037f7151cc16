/**
 * Clock skew of an hour between processes, and clocks that jump by two hours while jobs run: order, results and message retention
 * do not depend on clocks, and a process whose clock is set back stays in its consumer groups.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withCluster } from '../../pipeline/kafka/cluster.ts';
import { newestMessages } from '../../pipeline/kafka/newest-messages.ts';
import { topicName } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { eventually } from '../support/eventually.ts';
import { patient } from '../support/settings.ts';
import { servers } from '../support/stack.ts';
import { newLogFolder } from './support/logs.ts';
import { type OrderWatch, watchOrder } from './support/order.ts';
import { roundSeed } from './support/random.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const HOUR = 3_600_000;
/** Longer than the session timeout: a process that sends no heartbeat has left its groups by then. */
const AFTER_JUMP_MS = 1.5 * Number(patient.HEADRACE_SESSION_TIMEOUT_MS);
/** Each sets one of the clocks back. A host that stalls for a session timeout causes a rebalance, too; then the test retries. */
const JUMPS = 20;
const clock = new URL('./support/shifted-clock.mjs', import.meta.url).href;
const random = roundSeed('clock');
const silent = createLogger({ logLevel: 'silent' }, 'test');

let service: FaultService;
/** Timestamps are meaningless here, so the test watches the order of ends. */
let order: OrderWatch;
let jumpFile: string;
beforeAll(async () => {
  const logs = newLogFolder();
  jumpFile = join(logs, 'jump');
  service = await startFaultService(servers(), {
    logs,
    random: random.fork(),
    apis: 2,
    pipelines: 2,
    settingsOf: (_, n) => ({
      NODE_OPTIONS: `--import ${clock}`,
      CLOCK_SHIFT_MS: String(n === 0 ? HOUR : -HOUR),
      CLOCK_JUMP_FILE: jumpFile,
    }),
  });
  order = watchOrder(service.driver);
});
afterAll(async () => {
  await order?.stop();
  await service?.close();
});

/** By how many hours the clocks that accepted these jobs are off. */
async function hoursOff(from: number): Promise<Set<number>> {
  const jobs = await service.driver.jobs.find({ _id: { $gt: from } }).toArray();
  return new Set(jobs.map(({ createdAt }) => Math.round((createdAt.getTime() - Date.now()) / HOUR)));
}

/** By how many hours the timestamps of the newest messages are off: retention depends on them. */
async function hoursOffInKafka(): Promise<number[]> {
  const { config } = service.driver;
  const names = (['jobs', 'files', 'rows', 'devices', 'status'] as const).map((key) =>
    topicName(config, key),
  );
  const newest = await withCluster(config, silent, (cluster) => newestMessages(cluster, names));
  return names.map((name) => Math.round(Math.abs(newest.get(name)! - Date.now()) / HOUR));
}

const assignments = () =>
  service.pipelines.map(({ log }) => readFileSync(log, 'utf8').split('partitions assigned').length - 1);

it('clocks an hour ahead and an hour behind, then each on the other side: order and results are the same', async () => {
  const load = service.load();
  await service.answered(12);
  await eventually(() => hoursOff(0)).toEqual(new Set([1, -1]));
  await eventually(async () => (await hoursOffInKafka()).filter(Number.isNaN)).toEqual([]);
  expect(await hoursOffInKafka()).toEqual([0, 0, 0, 0, 0]);

  const stays: boolean[] = [];
  while (stays.length < JUMPS && !stays.at(-1)) {
    const before = await service.driver.jobs.countDocuments();
    const dealt = assignments();
    if (existsSync(jumpFile)) rmSync(jumpFile);
    else writeFileSync(jumpFile, '');
    await Promise.all([service.answered(12), sleep(AFTER_JUMP_MS)]);
    await eventually(() => hoursOff(before + 4)).toEqual(new Set([1, -1]));
    stays.push(assignments().join() === dealt.join());
  }
  expect(stays.at(-1), 'a jump after which no partitions were dealt anew').toBe(true);

  await load.stop();
  expect(await violationsOf(service.driver, service.lanes, { swept: false, endsInOrder: false })).toEqual([]);
  expect(await order.stop()).toEqual([]);
});
