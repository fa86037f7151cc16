/**
 * What slots found for privacy requests. First writer wins, so that a repetition after a crash returns the same result. A large answer has
 * parts of its own, stored before the result, which names them: parts of a writer that lost, or died, expire like answers.
 */
import type { Binary, Db } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { AnswerPartDocument, RequestResultDocument } from '../../schemas/stage-documents.ts';
import { unseal } from '../runtime/seal.ts';
import { removeInSteps, StaleRead } from './bulk.ts';
import { resealAll } from './reseal-all.ts';

export type RequestResultStore = ReturnType<typeof createRequestResultStore>;
export type RequestResult = Omit<RequestResultDocument, '_id' | 'createdAt'>;

/** The plaintext of an answer is an array of these for each part. Those of a device follow each other. */
export interface AnswerRecord {
  identifier: string;
  attributes: number[];
  audiences: { audience: number; generation: number; events: string[] }[];
}

/** The result is stored after its parts, and must not outlive them. */
const PART_OUTLIVES_MS = 3_600_000;

type AnswerPart = Omit<AnswerPartDocument, '_id' | 'createdAt'> & { token: string };

/** In which a part of an answer is sealed; the last one has no number. */
export const answerContext = ({
  job,
  slot,
  part,
}: {
  job: number;
  slot: number;
  part?: number | undefined;
}) => (part === undefined ? `request ${job}.${slot}` : `request ${job}.${slot}.${part}`);

/** One record for each device. */
async function* joinRecords(records: AsyncIterable<AnswerRecord>): AsyncGenerator<AnswerRecord> {
  let last: AnswerRecord | undefined;
  for await (const record of records) {
    if (last?.identifier === record.identifier) {
      for (const attribute of record.attributes) last.attributes.push(attribute);
      for (const audience of record.audiences) last.audiences.push(audience);
      continue;
    }
    if (last) yield last;
    last = record;
  }
  if (last) yield last;
}

export function createRequestResultStore(db: Db) {
  const results = db.collection<RequestResultDocument>(collections.requestResults);
  const parts = db.collection<AnswerPartDocument>(collections.requestResults);
  const both = db.collection<RequestResultDocument | AnswerPartDocument>(collections.requestResults);
  const idOf = (job: number, slot: number) => `${job}.${slot}`;
  const partId = (job: number, slot: number, token: string, part: number) =>
    `${idOf(job, slot)}.${token}.${part}`;
  const isResult = { part: { $exists: false } };

  async function* answersOf(
    { job, slot, sealed, before }: RequestResultDocument,
    secrets: readonly Uint8Array[],
  ): AsyncGenerator<AnswerRecord> {
    if (!sealed) return;
    const open = (one: Binary, part?: number) =>
      JSON.parse(unseal(secrets, one, answerContext({ job, slot, part }))) as AnswerRecord[];
    for (let part = 0; part < (before?.parts ?? 0); part++) {
      const stored = await parts.findOne({ _id: partId(job, slot, before!.token, part) });
      if (!stored) throw new StaleRead(`part ${part} of the answer to request ${job} is not visible yet`);
      yield* open(stored.sealed, part);
    }
    yield* open(sealed);
  }

  return {
    find: (job: number, slot: number) => results.findOne({ _id: idOf(job, slot) }),

    /** Returns the stored result. Answers expire; the result of a deletion stays until its job is removed, even if that was stopped. */
    async store(result: RequestResult): Promise<RequestResultDocument> {
      const _id = idOf(result.job, result.slot);
      const update = { $setOnInsert: result.sealed ? { ...result, createdAt: new Date() } : result };
      return (await results.findOneAndUpdate({ _id }, update, { upsert: true, returnDocument: 'after' }))!;
    },

    /** A part of an answer that is not visible until its result is stored. */
    async storePart({ job, slot, token, part, sealed }: AnswerPart): Promise<void> {
      const createdAt = new Date(Date.now() + PART_OUTLIVES_MS);
      const update = { $setOnInsert: { job, slot, part, sealed, createdAt } };
      await parts.updateOne({ _id: partId(job, slot, token, part) }, update, { upsert: true });
    },

    /** Whether an answer is stored, or was not needed in any slot. */
    hasAnswer: async (job: number): Promise<boolean> =>
      (await results.findOne({ job, ...isResult }, { projection: { _id: 1 } })) !== null,

    /** What is stored about each device, slot by slot, with a part in memory at a time. */
    async *answers(job: number, secrets: readonly Uint8Array[]): AsyncGenerator<AnswerRecord> {
      for await (const result of results
        .find({ job, ...isResult })
        .sort({ slot: 1 })
        .batchSize(1))
        yield* joinRecords(answersOf(result, secrets));
    },

    /** Answers that the current secret, the first, has not sealed. Returns how many there were. */
    reseal: (secrets: readonly Uint8Array[]) =>
      resealAll(both, both.find({ createdAt: { $exists: true } }), secrets, answerContext),

    forget: (jobs: number[]) => removeInSteps(results, { job: { $in: jobs } }),
  };
}
