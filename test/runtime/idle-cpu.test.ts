import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Service, startService } from '../support/stack.ts';

let service: Service;
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

it.skipIf(process.platform !== 'linux')(
  'an idle service uses under 5 % of a core (needs /proc)',
  async () => {
    // What a start leaves to do (compilation, first connections) is not idling.
    await sleep(3_000);
    const pids = [service.apiProcess.pid!, service.pipelineProcess.pid!];
    const before = pids.map(cpuSeconds);
    await sleep(WATCHED_SECONDS * 1_000);
    const used = pids.map((pid, i) => (cpuSeconds(pid) - before[i]!) / WATCHED_SECONDS);
    console.info(`api ${used[0]!.toFixed(3)}, pipeline ${used[1]!.toFixed(3)} of a core`);
    expect(used[0]! + used[1]!, `api ${used[0]}, pipeline ${used[1]}`).toBeLessThan(0.05);
  },
);
