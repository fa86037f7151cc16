/** Checks: the sinks' answers whether their slots hold all of a job. For each attempt, the last answer counts. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { CheckDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { removeInSteps } from './remove-in-steps.ts';

export type CheckStore = ReturnType<typeof createCheckStore>;
export type Check = Omit<CheckDocument, '_id'>;

export function createCheckStore(db: Db) {
  // An answer is true for as long as its sink lives: it need not outlive a crash of MongoDB. One that is lost is asked for again.
  const checks = db.collection<CheckDocument>(collections.checks, {
    writeConcern: { w: 1, journal: false },
    readConcern: { level: 'local' },
    readPreference: 'primary',
  });

  return {
    record: groupCommit(async (answers: Check[][]) => {
      const operations = answers.flat().map((answer) => ({
        updateOne: {
          filter: { _id: `${answer.job}.${answer.attempt}.${answer.partition}` },
          update: { $set: answer },
          upsert: true,
        },
      }));
      await checks.bulkWrite(operations, { ordered: true });
    }),

    /** All answers for the first jobs; for the others only those of slots that lack something or have failed. */
    answersTo(all: number[], merging: number[]) {
      const isNotGood = { $or: [{ 'lacking.0': { $exists: true } }, { failure: { $exists: true } }] };
      return checks.find({ $or: [{ job: { $in: all } }, { job: { $in: merging }, ...isNotGood }] }).toArray();
    },

    ofAttempt: (job: number, attempt: number) =>
      checks.find({ job, attempt }).sort({ partition: 1 }).toArray(),

    forget: (jobs: number[]) => removeInSteps(checks, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(checks, { job: { $lt: job } }),
  };
}
