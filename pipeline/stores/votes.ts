/** Votes: whether the slots of a partition hold all of a job. For each attempt, the last vote counts. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { VoteDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { removeInSteps } from './bulk.ts';

export type VoteStore = ReturnType<typeof createVoteStore>;
export type Vote = Omit<VoteDocument, '_id'>;

export function createVoteStore(db: Db) {
  // A vote is true while its sink lives, so it need not survive a crash of MongoDB. One that is lost is requested again.
  const votes = db.collection<VoteDocument>(collections.votes, {
    writeConcern: { w: 1, journal: false },
    readConcern: { level: 'local' },
    readPreference: 'primary',
  });

  return {
    record: groupCommit(async (cast: Vote[][]) => {
      const operations = cast.flat().map((vote) => ({
        updateOne: {
          filter: { _id: `${vote.job}.${vote.attempt}.${vote.partition}` },
          update: { $set: vote },
          upsert: true,
        },
      }));
      await votes.bulkWrite(operations, { ordered: true });
    }),

    /** All votes on jobs that prepare; on jobs that commit, only those of slots that miss devices or have failed. */
    votesOn(preparing: number[], committing: number[]) {
      const isNo = { $or: [{ 'missing.0': { $exists: true } }, { failure: { $exists: true } }] };
      return votes
        .find({ $or: [{ job: { $in: preparing } }, { job: { $in: committing }, ...isNo }] })
        .toArray();
    },

    ofAttempt: (job: number, attempt: number) =>
      votes.find({ job, attempt }).sort({ partition: 1 }).toArray(),

    forget: (jobs: number[]) => removeInSteps(votes, { job: { $in: jobs } }),
    forgetBefore: (job: number) => removeInSteps(votes, { job: { $lt: job } }),
  };
}
