/** Sends the devices of batches to their slots. Concurrent small batches share messages: one per slot instead of one per batch and slot. */
import { slotPartition, type ValidatedDevices } from '../../../schemas/topics.ts';
import type { SlotPairs } from '../../formats/device-pairs.ts';
import type { OutgoingMessage, Placed, Publisher } from '../../kafka/publish.ts';
import { groupBy } from '../../runtime/collections.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import { encode } from '../../wire/codec.ts';
import { type DeviceGroup, decodeGroups, encodeGroups } from '../../wire/device-groups.ts';

export interface BatchDevices {
  job: number;
  file: number;
  batch: number;
  slots: Pick<SlotPairs, 'slot' | 'groups'>[];
}

/** A multiple of 16, well below the limit of a message. */
const PART_BYTES = 16 * 50_000;
const GROUP_OVERHEAD = 12;
const SENDS_IN_FLIGHT = 4;

const sizeOf = ({ key, devices }: DeviceGroup) => devices.length + key.length + GROUP_OVERHEAD;
/** Upper bound of the size of all groups with their overhead. */
const maxSizeOf = ({ groups }: { groups: Buffer }) => 2 * groups.length;
export const sizeOfBatch = ({ slots }: Pick<BatchDevices, 'slots'>) =>
  slots.reduce((sum, { groups }) => sum + groups.length, 0);

export function createSendDevices(publisher: Publisher, devicePartitions: number) {
  async function send(batches: BatchDevices[]): Promise<Placed[]> {
    const messages: OutgoingMessage[] = [...messagesOf(batches)].map((message) => ({
      partition: slotPartition(message.slot, devicePartitions),
      key: String(message.slot),
      value: encode('ValidatedDevices', message),
    }));
    const placed = await publisher.send('devices', messages);
    return batches.map(() => placed);
  }
  return groupCommit(send, {
    inFlight: SENDS_IN_FLIGHT,
    howMany: (waiting) =>
      inGroups(
        waiting,
        within({ bytes: PART_BYTES }, ({ item }) => sizeOfBatch(item)),
      ).next().value!.length,
  });
}

export function* messagesOf(batches: BatchDevices[]): Generator<ValidatedDevices> {
  const bySlot = groupBy(bySlots(batches), ({ job, slot }) => `${job} ${slot}`);
  for (const sameSlot of bySlot.values()) {
    for (const group of inGroups(sameSlot, within({ bytes: PART_BYTES }, maxSizeOf))) {
      const [first, ...more] = group;
      if (more.length === 0) yield* inParts(first!);
      else yield { ...first!, more: more.map(({ file, batch, groups }) => ({ file, batch, groups })) };
    }
  }
}

function* bySlots(batches: BatchDevices[]): Generator<ValidatedDevices> {
  for (const { job, file, batch, slots } of batches)
    for (const { slot, groups } of slots) yield { job, file, batch, slot, part: 0, groups };
}

/** A row may have thousands of keys, all in one slot: cut deterministically into parts that fit a message. */
function* inParts(message: ValidatedDevices): Generator<ValidatedDevices> {
  if (maxSizeOf(message) <= PART_BYTES) return yield message;
  let part = 0;
  for (const groups of inGroups(
    piecesOf(decodeGroups(message.groups)),
    within({ bytes: PART_BYTES }, sizeOf),
  ))
    yield { ...message, part: part++, groups: encodeGroups(groups) };
}

function* piecesOf(groups: DeviceGroup[]): Generator<DeviceGroup> {
  for (const { key, devices } of groups)
    for (let at = 0; at < devices.length; at += PART_BYTES)
      yield { key, devices: devices.subarray(at, at + PART_BYTES) };
}
