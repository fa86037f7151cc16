/**
 * Garbage collection: data of cleared audiences, and leftovers of lost races and crashes. Orphaned pages have their own sweep, because it
 * scans all pages.
 */
import { type AudienceDocument, spaces } from '../../../../schemas/documents.ts';
import type { Logger } from '../../../runtime/log.ts';
import type { DeviceSets } from '../../../sets/device-sets.ts';
import { removedUpTo } from '../../../stores/counters.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';
import type { RemoveJobs } from './remove-jobs.ts';

const SWEEP_AGAIN_MS = 15 * 60_000;
/** Far above any clock skew: a page carries its writer's time. */
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
   * Runs when no job of an earlier generation is left that could still write, and is repeated for a while: a zombie that wakes up later
   * still makes its write, and nothing would refuse it.
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

  /** Removes loads that expired before the clear and were kept only for their devices. */
  async function removeLoads({ _id, generation }: AudienceDocument, signal: AbortSignal): Promise<void> {
    const [upTo = 0] = await counters.highest([removedUpTo.jobs]);
    for (;;) {
      signal.throwIfAborted();
      const loads = await jobs.loadsBelow(_id, generation, upTo, LOADS_AT_ONCE);
      if (loads.length === 0) return;
      await deps.removeJobs(loads, signal);
    }
  }

  /** A failure for one audience does not stop the others; it is retried next time. */
  async function sweepCleared(step: DispatchStep): Promise<void> {
    for await (const audience of audiences.toSweep()) {
      step.signal.throwIfAborted();
      await sweepAudience(audience, step).catch((error) => {
        step.signal.throwIfAborted();
        log.warn(
          { err: error, audience: audience._id },
          'sweeping a cleared audience failed: it is retried later',
        );
      });
    }
  }

  /** Removes what a crashed dispatcher left, and what a late validate or sink wrote after the end of a job. */
  async function sweepEnded(): Promise<void> {
    const { first } = await jobs.extent();
    const stores = [deps.ledger, deps.acks, deps.votes, deps.spills, deps.verdicts];
    await Promise.all(stores.map((store) => store.forgetBefore(first)));
    // Spills hold devices, which a deletion must not leave behind while an older job waits.
    const ended = await jobs.endedAmong(await deps.spills.jobs());
    if (ended.size > 0) await deps.spills.forgetAll([...ended]);
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
