/** Votes: whether the slots of a partition hold all of a job. The last vote of each attempt counts. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { VoteDocument } from '../../schemas/stage-documents.ts';
import { groupCommit } from '../runtime/group-commit.ts';
import { removeInSteps } from './bulk.ts';

export type VoteStore = ReturnType<typeof createVoteStore>;
export type Vote = Omit<VoteDocument, '_id'>;

export function createVoteStore(db: Db) {
  // No majority write: a vote is valid only while its sink lives, and a lost one is requested again.
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

    /** All votes on preparing jobs; for committing jobs, only votes that report missing devices or a failure. */
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
