/** Devices that a sink has spilled until their job is merged. The same batch may stand in two spills; it counts once. */
import { Binary, type Db, ObjectId } from 'mongodb';
import { collections } from '../../schemas/documents.ts';
import type { SpillDocument } from '../../schemas/stage-documents.ts';
import type { ValidatedDevices } from '../../schemas/topics.ts';
import { inGroups, within } from '../runtime/in-groups.ts';
import { decode, encode } from '../wire/codec.ts';
import { removeInSteps } from './remove-in-steps.ts';

export type SpillStore = ReturnType<typeof createSpillStore>;

const LENGTH = 4;
const MAX_BYTES = 2_000_000;

type Framed = [length: Buffer, message: Buffer];
const sizeOf = ([length, message]: Framed) => length.length + message.length;

/** Each message behind its length; encoded only when it is asked for. */
function* framed(devices: ValidatedDevices[]): Generator<Framed> {
  for (const one of devices) {
    const message = encode('ValidatedDevices', one);
    const length = Buffer.alloc(LENGTH);
    length.writeUInt32BE(message.length);
    yield [length, message];
  }
}

export function createSpillStore(db: Db) {
  const spills = db.collection<SpillDocument>(collections.spills);

  return {
    async save({
      job,
      slot,
      devices,
    }: {
      job: number;
      slot: number;
      devices: ValidatedDevices[];
    }): Promise<void> {
      for (const group of inGroups(framed(devices), within({ bytes: MAX_BYTES }, sizeOf))) {
        const _id = `${job}.${slot}.${new ObjectId().toHexString()}`;
        await spills.insertOne({ _id, job, slot, messages: new Binary(Buffer.concat(group.flat())) });
      }
    },

    /** Jobs of which something was spilled in these slots. */
    jobsIn: (slots: number[]): Promise<number[]> => spills.distinct('job', { slot: { $in: slots } }),

    /** Bytes spilled for the jobs, by slot. */
    async sizes(jobs: number[], slots: number[]): Promise<Map<number, number>> {
      const sizes = await spills
        .aggregate<{ _id: number; bytes: number }>([
          { $match: { slot: { $in: slots }, job: { $in: jobs } } },
          { $group: { _id: '$slot', bytes: { $sum: { $binarySize: '$messages' } } } },
        ])
        .toArray();
      return new Map(sizes.map(({ _id, bytes }) => [_id, bytes]));
    },

    /** Message by message, a document or two in memory at a time. */
    async *read(job: number, slot: number): AsyncGenerator<ValidatedDevices> {
      for await (const spill of spills.find({ slot, job }).batchSize(2)) {
        const bytes = Buffer.from(
          spill.messages.buffer.buffer,
          spill.messages.buffer.byteOffset,
          spill.messages.length(),
        );
        for (let at = 0; at < bytes.length; ) {
          const length = bytes.readUInt32BE(at);
          const decoded = decode(bytes.subarray(at + LENGTH, at + LENGTH + length), ['ValidatedDevices']);
          yield decoded.value as ValidatedDevices;
          at += LENGTH + length;
        }
      }
    },

    forget: (slots: number[], upToJob: number) =>
      spills.deleteMany({ slot: { $in: slots }, job: { $lte: upToJob } }),
    forgetBefore: (job: number) => removeInSteps(spills, { job: { $lt: job } }),
  };
}
