/** What the slots have found for privacy requests. First writer wins: what is done again after a crash must say the same. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { RequestResultDocument } from '../../schemas/stage-documents.ts';
import { removeInSteps } from './bulk.ts';

export type RequestResultStore = ReturnType<typeof createRequestResultStore>;
export type RequestResult = Omit<RequestResultDocument, '_id' | 'createdAt'>;

export function createRequestResultStore(db: Db) {
  const results = db.collection<RequestResultDocument>(collections.requestResults);
  const idOf = (job: number, slot: number) => `${job}.${slot}`;

  return {
    find: (job: number, slot: number) => results.findOne({ _id: idOf(job, slot) }),

    /** Gives the one that is stored. Answers expire; what a deletion goes by stays, however long its job is stopped. */
    async store(result: RequestResult): Promise<RequestResultDocument> {
      const _id = idOf(result.job, result.slot);
      const update = { $setOnInsert: result.sealed ? { ...result, createdAt: new Date() } : result };
      return (await results.findOneAndUpdate({ _id }, update, { upsert: true, returnDocument: 'after' }))!;
    },

    /** In the order of slots. */
    ofJob: (job: number) => results.find({ job }).sort({ slot: 1 }).toArray(),

    forget: (jobs: number[]) => removeInSteps(results, { job: { $in: jobs } }),
  };
}
