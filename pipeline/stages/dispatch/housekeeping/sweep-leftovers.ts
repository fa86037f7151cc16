/**
 * Clears away what can no longer be seen: what cleared audiences held, and what a lost race or a crash left behind. Orphaned pages are
 * looked for apart from the rest: among all pages there are, which takes long.
 */
import { type AudienceDocument, spaces } from '../../../../schemas/documents.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { DeviceSets } from '../../../sets/device-sets.ts';
import { removedUpTo } from '../../../stores/counters.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';
import type { RemoveJobs } from './remove-jobs.ts';

const SWEEP_AGAIN_MS = 15 * 60_000;
/** Well above the differences between clocks: what is written carries the time of its writer. */
const ORPHAN_AGE_MS = 6 * 3_600_000;
const LOADS_AT_ONCE = 500;

interface Dependencies
  extends Pick<
    Stores,
    | 'jobs'
    | 'audiences'
    | 'compositions'
    | 'compositionRows'
    | 'eventValues'
    | 'counters'
    | 'ledger'
    | 'acks'
    | 'votes'
    | 'spills'
    | 'verdicts'
  > {
  log: Logger;
  sets: Pick<DeviceSets, 'spacesOf' | 'removeSpace'>;
  removeJobs: RemoveJobs;
}

export function createSweep(deps: Dependencies) {
  const { log, sets, jobs, audiences, compositions, compositionRows, eventValues, counters } = deps;

  /**
   * Only when no job of an earlier generation is left that could still write; and for a while afterwards again and again: a process
   * that was frozen before its write makes it when it wakes up, and finds nothing there that would refuse it.
   */
  async function sweepAudience(audience: AudienceDocument, { signal }: DispatchStep): Promise<void> {
    const { _id, generation } = audience;
    await compositions.forgetBelow(_id, generation);
    await compositionRows.expireBelow(_id, generation);
    if (await jobs.hasOpenBelow(_id, generation)) return;
    for (const space of await sets.spacesOf([_id])) {
      if (spaces.parse(space)!.generation >= generation) continue;
      await sets.removeSpace(space, signal);
      log.info({ audience: _id, space }, 'removed the devices of a cleared generation');
    }
    await eventValues.removeBelow(_id, generation, signal);
    await removeLoads(audience, signal);
    await audiences.markSwept(audience, SWEEP_AGAIN_MS);
  }

  /** Loads that had expired before the clear, and stayed only for what they had loaded. */
  async function removeLoads({ _id, generation }: AudienceDocument, signal: AbortSignal): Promise<void> {
    const [upTo = 0] = await counters.highest([removedUpTo.jobs]);
    for (;;) {
      signal.throwIfAborted();
      const loads = await jobs.loadsBelow(_id, generation, upTo, LOADS_AT_ONCE);
      if (loads.length === 0) return;
      await deps.removeJobs(loads, signal);
    }
  }

  /** What fails for one audience is tried again next time, and is no reason to leave the others. */
  async function sweepCleared(step: DispatchStep): Promise<void> {
    for await (const audience of audiences.toSweep()) {
      step.signal.throwIfAborted();
      await sweepAudience(audience, step).catch((error) => {
        step.signal.throwIfAborted();
        log.warn(
          { err: error, audience: audience._id },
          'could not sweep a cleared audience: trying again later',
        );
      });
    }
  }

  /** What a dispatcher that died could not clear, and what a late validate or sink wrote after the end. */
  async function sweepEnded(): Promise<void> {
    const { first } = await jobs.extent();
    const stores = [deps.ledger, deps.acks, deps.votes, deps.spills, deps.verdicts];
    await Promise.all(stores.map((store) => store.forgetBefore(first)));
  }

  return async (step: DispatchStep): Promise<void> => {
    await sweepCleared(step);
    await sweepEnded();
  };
}

interface OrphanDependencies {
  log: Logger;
  sets: Pick<DeviceSets, 'sweepOrphans'>;
}

export function createSweepOrphans({ log, sets }: OrphanDependencies) {
  return async ({ signal }: DispatchStep): Promise<void> => {
    const swept = await sets.sweepOrphans({ unnamedForMs: ORPHAN_AGE_MS, signal });
    if (swept > 0) log.info({ merges: swept }, 'removed the pages of merges that never landed');
  };
}
