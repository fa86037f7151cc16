import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type OwnService, startService } from '../support/stack.ts';

let service: OwnService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const TICKS_A_SECOND = 100;
const WATCHED_SECONDS = 10;

/** CPU seconds that a process has used, user and system. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

const work = Array.from({ length: 200 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', String(id)] }));
/** CPU time of the work below on the machine for which the limit was set. */
const WORK_SECONDS = 0.15;

/** How many times slower this machine is, by the CPU time of the same work. */
function slowness(): number {
  const before = process.cpuUsage();
  for (let i = 0; i < 1_000; i++) JSON.parse(JSON.stringify(work));
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, (user + system) / 1e6 / WORK_SECONDS);
}

it.skipIf(process.platform !== 'linux')(
  'an idle service uses under 5 % of a core (needs /proc)',
  async () => {
    const pids = [service.api.pid!, service.pipeline.pid!];
    const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
    // Repeated: work left over from the start (compilation, first connections) is not idling.
    await eventually(async () => {
      const before = used();
      await sleep(WATCHED_SECONDS * 1_000);
      const share = (used() - before) / WATCHED_SECONDS / slowness();
      console.info(`${share.toFixed(3)} of a core`);
      return share;
    }).toBeLessThan(0.05);
  },
);
