/**
 * Processes that run any mix of stages join, stop and are killed while jobs run. SCALED_MOST=16 has up to sixteen processes of each
 * stage and takes longer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type StageName, stageNames } from '../../../schemas/stages.ts';
import { type Managed, manage } from '../../support/processes.ts';
import type { FaultFixture } from '../support/fixture.ts';
import { newLogFolder } from '../support/logs.ts';
import type { Random } from '../support/random.ts';
import { untilAllEnded } from '../support/settle.ts';

const maxProcesses = Number(process.env.SCALED_MOST ?? 2);

interface Process extends Managed {
  readonly stages: readonly StageName[];
}

export function stagesScaled(faults: FaultFixture, random: Random): void {
  const processes = new Set<Process>();

  const running = (stage: StageName) => [...processes].filter(({ stages }) => stages.includes(stage));
  const others = (stage: StageName) => stageNames.filter((name) => name !== stage);

  /** Starts a process of one stage, sometimes with further stages. */
  async function join(stage: StageName): Promise<Process> {
    const stages = random.chance(0.2) ? [stage, ...random.some(others(stage), 1 + random.below(3))] : [stage];
    const logs = newLogFolder();
    const managed = await manage('pipeline', faults.service.settings, {
      logs,
      args: ['--stages', stages.join()],
    });
    const process = Object.assign(managed, { stages });
    processes.add(process);
    process.start();
    return process;
  }

  /** May stop the stage's last process: its work then waits for the next one. */
  async function leave(stage: StageName): Promise<void> {
    const managed = random.pick(running(stage));
    processes.delete(managed);
    if (random.chance(0.5)) await managed.stop();
    else await managed.kill();
  }

  it('processes of any mix of stages join, stop and are killed while jobs run', {
    timeout: 2_700_000 + 300_000 * maxProcesses,
  }, async () => {
    // Processes with more stages than partitions would stand by, so the processes with all stages stop.
    await Promise.all(faults.service.pipelines.map((one) => one.stop()));
    onTestFinished(async () => {
      await Promise.all([...processes].map((one) => one.kill()));
    });
    for (const stage of stageNames) for (let n = random.below(maxProcesses); n >= 0; n--) await join(stage);
    await Promise.all([...processes].map((one) => one.ready()));
    const load = faults.service.load();
    const leaving: Promise<void>[] = [];
    for (let n = 0; n < 4 * maxProcesses; n++) {
      const stage = random.pick(stageNames);
      const count = running(stage).length;
      if (count < maxProcesses && (count === 0 || random.chance(0.5))) await join(stage);
      else leaving.push(leave(stage));
      await sleep(random.below(2_000));
    }
    await Promise.all(leaving);
    await load.stop();
    for (const stage of stageNames) if (running(stage).length === 0) await join(stage);
    await Promise.all([...processes].map((one) => one.ready()));
    await untilAllEnded(faults.service.driver);
    expect([...processes].filter((one) => !one.running).map(({ stages }) => stages)).toEqual([]);
    for (const managed of faults.service.pipelines) managed.start();
    await Promise.all(faults.service.pipelines.map((one) => one.ready()));
  });
}
