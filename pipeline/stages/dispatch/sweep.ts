/** Clears away what can no longer be seen: sets of cleared audiences, and chunks that a lost race or a crash left behind. */
import type { Db } from 'mongodb';
import {
  type AudienceDocument,
  collections,
  type JobDocument,
  setNames,
} from '../../../schemas/documents.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Step } from '../../runtime/step.ts';
import type { DeviceSets } from '../../sets/device-sets.ts';
import type { JobStore } from '../../stores/jobs.ts';

const ORPHAN_AGE_MS = 15 * 60_000;

interface Dependencies {
  db: Db;
  log: Logger;
  sets: DeviceSets;
  jobs: JobStore;
}

export function createSweep({ db, log, sets, jobs: jobStore }: Dependencies) {
  const audiences = db.collection<AudienceDocument>(collections.audiences);
  const jobs = db.collection<JobDocument>(collections.jobs);
  let lastOrphanSweep = Number.NEGATIVE_INFINITY;

  /**
   * Only when no job of an older generation is left that could still write; and for a while afterwards again and again: a sink
   * that was frozen between its fence and its manifest writes when it wakes up, and finds no version there to lose against.
   */
  async function sweepCleared(step: Step<'dispatch'>): Promise<void> {
    const cleared = audiences.find({
      $expr: {
        $or: [
          { $gt: ['$generation', { $ifNull: ['$sweptBelow', 1] }] },
          { $gt: ['$sweptAt', { $subtract: ['$$NOW', ORPHAN_AGE_MS] }] },
        ],
      },
    });
    for await (const { _id, generation, sweptBelow = 1 } of cleared) {
      if (step.signal.aborted) return;
      await removeBelow(_id, sweptBelow);
      if (generation === sweptBelow) continue;
      const older = { audience: _id, generation: { $lt: generation } };
      if (await jobs.findOne({ ...older, phase: { $nin: ['ended', 'withdrawn'] } })) continue;
      for (let old = sweptBelow; old < generation; old++)
        await sets.removeForGood(setNames.audience(_id, old));
      await audiences.updateOne({ _id }, [
        { $set: { sweptBelow: { $max: ['$sweptBelow', generation] }, sweptAt: '$$NOW' } },
      ]);
      log.info({ audience: _id, below: generation }, 'swept what a clear left behind');
    }
  }

  async function removeBelow(audience: number, generation: number): Promise<void> {
    if (generation === 1) return;
    const generations = new Set((await sets.named(`audience:${audience}:g`)).map(setNames.generationOf));
    for (const old of generations)
      if (old < generation) await sets.removeForGood(setNames.audience(audience, old));
  }

  /** What a dispatcher that died could not clear, and what a late validate or sink wrote after the end. */
  async function sweepEnded(): Promise<void> {
    const before = { job: { $lt: (await jobStore.extent()).first } };
    await Promise.all(
      [collections.ledger, collections.acks, collections.checks, collections.spills].map((name) =>
        db.collection(name).deleteMany(before),
      ),
    );
  }

  return async (step: Step<'dispatch'>): Promise<void> => {
    await sweepCleared(step);
    await sweepEnded();
    if (performance.now() - lastOrphanSweep < ORPHAN_AGE_MS) return;
    lastOrphanSweep = performance.now();
    await sets.sweepOrphans({ unnamedForMs: ORPHAN_AGE_MS });
  };
}
