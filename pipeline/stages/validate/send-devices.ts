/** Sends the devices of batches to their slots. Small batches that come at the same time share messages: one a slot, not one a batch. */
import { slotPartition, type ValidatedDevices } from '../../../schemas/topics.ts';
import type { ParsedRows } from '../../formats/row-formats.ts';
import type { OutgoingMessage, Publisher } from '../../kafka/publish.ts';
import { groupBy } from '../../runtime/group-by.ts';
import { groupCommit } from '../../runtime/group-commit.ts';
import { inGroups, within } from '../../runtime/in-groups.ts';
import { encode } from '../../wire/codec.ts';

export interface BatchDevices {
  job: number;
  file: number;
  batch: number;
  slots: ParsedRows['slots'];
}

type Group = ValidatedDevices['groups'][number];

/** A multiple of 16, and well below what one message may hold. */
const PART_BYTES = 16 * 50_000;
const GROUP_OVERHEAD = 12;
const SENDS_IN_FLIGHT = 4;

const sizeOf = ({ key, devices }: Group) => devices.length + key.length + GROUP_OVERHEAD;
const sizeOfAll = (groups: Group[]) => groups.reduce((sum, group) => sum + sizeOf(group), 0);
const sizeOfBatch = ({ slots }: BatchDevices) =>
  slots.reduce((sum, { groups }) => sum + sizeOfAll(groups), 0);

export function createSendDevices(publisher: Publisher, devicePartitions: number) {
  async function send(batches: BatchDevices[]): Promise<undefined> {
    const messages: OutgoingMessage[] = [...messagesOf(batches)].map((message) => ({
      partition: slotPartition(message.slot, devicePartitions),
      key: String(message.slot),
      value: encode('ValidatedDevices', message),
    }));
    await publisher.send('devices', messages);
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
    for (const some of inGroups(
      sameSlot,
      within({ bytes: PART_BYTES }, ({ groups }) => sizeOfAll(groups)),
    )) {
      const [first, ...more] = some;
      if (more.length === 0) yield* inParts(first!);
      else yield { ...first!, more: more.map(({ file, batch, groups }) => ({ file, batch, groups })) };
    }
  }
}

function* bySlots(batches: BatchDevices[]): Generator<ValidatedDevices> {
  for (const { job, file, batch, slots } of batches)
    for (const { slot, groups } of slots) yield { job, file, batch, slot, part: 0, groups };
}

/** A row may name thousands of keys, all in one slot: cut so that each part fits a message, the same way every time. */
function* inParts(message: ValidatedDevices): Generator<ValidatedDevices> {
  let part = 0;
  for (const groups of inGroups(piecesOf(message.groups), within({ bytes: PART_BYTES }, sizeOf)))
    yield { ...message, part: part++, groups };
}

function* piecesOf(groups: Group[]): Generator<Group> {
  for (const { key, devices } of groups)
    for (let at = 0; at < devices.length; at += PART_BYTES)
      yield { key, devices: devices.subarray(at, at + PART_BYTES) };
}
