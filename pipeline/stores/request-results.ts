/** What slots found for privacy requests. First writer wins, so that a repetition after a crash returns the same result. */
import type { Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { RequestResultDocument } from '../../schemas/stage-documents.ts';
import { removeInSteps } from './bulk.ts';
import { resealAll } from './reseal-all.ts';

export type RequestResultStore = ReturnType<typeof createRequestResultStore>;
export type RequestResult = Omit<RequestResultDocument, '_id' | 'createdAt'>;

/** In which an answer is sealed. */
export const answerContext = ({ job, slot }: Pick<RequestResult, 'job' | 'slot'>) => `request ${job}.${slot}`;

export function createRequestResultStore(db: Db) {
  const results = db.collection<RequestResultDocument>(collections.requestResults);
  const idOf = (job: number, slot: number) => `${job}.${slot}`;

  return {
    find: (job: number, slot: number) => results.findOne({ _id: idOf(job, slot) }),

    /** Returns the stored result. Answers expire; the result of a deletion stays until its job is removed, even if that was stopped. */
    async store(result: RequestResult): Promise<RequestResultDocument> {
      const _id = idOf(result.job, result.slot);
      const update = { $setOnInsert: result.sealed ? { ...result, createdAt: new Date() } : result };
      return (await results.findOneAndUpdate({ _id }, update, { upsert: true, returnDocument: 'after' }))!;
    },

    /** Ordered by slot. */
    ofJob: (job: number) => results.find({ job }).sort({ slot: 1 }).toArray(),

    /** Answers that the current secret, the first, has not sealed. Returns how many there were. */
    reseal: (secrets: readonly Uint8Array[]) =>
      resealAll(results, results.find({ createdAt: { $exists: true } }), secrets, answerContext),

    forget: (jobs: number[]) => removeInSteps(results, { job: { $in: jobs } }),
  };
}
