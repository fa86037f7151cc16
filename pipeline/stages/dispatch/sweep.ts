/** Clears away what can no longer be seen: the devices of cleared audiences, and pages that a crash left behind. */
import { spaces } from '../../../schemas/documents.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Step } from '../../runtime/step.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { Stores } from '../../stores/stores.ts';

const SWEEP_AGAIN_MS = 15 * 60_000;
const ORPHAN_AGE_MS = 6 * 3_600_000;

interface Dependencies
  extends Pick<Stores, 'jobs' | 'audiences' | 'compositions' | 'ledger' | 'acks' | 'checks' | 'spills'> {
  log: Logger;
  sets: DeviceSets;
}

export function createSweep(deps: Dependencies) {
  const { log, sets, jobs, audiences, compositions, ledger, acks, checks, spills } = deps;
  let lastOrphanSweep = Number.NEGATIVE_INFINITY;

  /**
   * Only when no job of an older generation is left that could still write; and for a while afterwards again and again: a sink
   * that was frozen between its fence and its manifest writes when it wakes up, and finds no version there to lose against.
   */
  async function sweepCleared(step: Step<'dispatch'>): Promise<void> {
    for await (const { _id, generation, sweptBelow = 1 } of audiences.toSweep(SWEEP_AGAIN_MS)) {
      if (step.signal.aborted) return;
      await compositions.forgetBelow(_id, generation);
      await removeBelow(_id, sweptBelow);
      if (generation === sweptBelow) continue;
      if (await jobs.hasOpenBelow(_id, generation)) continue;
      for (let old = sweptBelow; old < generation; old++)
        await sets.removeSpace(spaces.audience(_id, old), step.signal);
      await audiences.markSwept(_id, generation);
      log.info({ audience: _id, below: generation }, 'removed the data of cleared generations');
    }
  }

  async function removeBelow(audience: number, generation: number): Promise<void> {
    if (generation === 1) return;
    for (const space of await sets.spacesOf(audience))
      if (spaces.parse(space)!.generation < generation) await sets.removeSpace(space);
  }

  /** What a dispatcher that died could not clear, and what a late validate or sink wrote after the end. */
  async function sweepEnded(): Promise<void> {
    const { first } = await jobs.extent();
    await Promise.all([ledger, acks, checks, spills].map((store) => store.forgetBefore(first)));
  }

  return async (step: Step<'dispatch'>): Promise<void> => {
    await sweepCleared(step);
    await sweepEnded();
    if (performance.now() - lastOrphanSweep < SWEEP_AGAIN_MS) return;
    lastOrphanSweep = performance.now();
    await sets.sweepOrphans({ unnamedForMs: ORPHAN_AGE_MS });
  };
}
