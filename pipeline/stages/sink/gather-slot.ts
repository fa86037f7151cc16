/** Sorts what came for a job in one slot, or in a range of it, and counts it. */
import type { JobMarker } from '../../../schemas/topics.ts';
import type { Addresses, InRange } from '../../formats/address-ranges.ts';
import { ByteTable } from '../../formats/byte-table.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import { SeenBatches } from '../../formats/seen-batches.ts';
import type { Devices } from '../../sets/devices.ts';
import { Pairs, sortPairs } from '../../sets/sort-pairs.ts';
import { eachGroup } from '../../wire/device-groups.ts';

export interface GatheredSlot {
  devices: Devices;
  uniqueDevices: number;
  pairs: number;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
}

/** The numbers of keys: attributes are numbers already, events have one in the audience's dictionary. */
export type NumberKeys = (keys: string[]) => Promise<number[]>;

/** Instead of a file, where pairs are not counted by file. */
const ALL_FILES = 0;
const otherEvents = Buffer.from(OTHER_EVENTS);

/** Only files that passed, and each batch once; all addresses, or some. */
export async function gatherSlot(
  { files_counted }: JobMarker,
  files: { isPassed(file: number): boolean; isCollapsed(file: number): boolean },
  ranges: AsyncIterable<InRange>,
  numberKeys: NumberKeys,
  hash: DeviceHash,
  where?: Addresses,
): Promise<GatheredSlot> {
  /** By range: a batch comes in each that it has devices in. */
  const seen = new Map<number, SeenBatches>();
  const pairs = new Pairs();
  const names = new ByteTable();
  const kept = where && { ...where, hash };
  for await (const { range, messages } of ranges) {
    const seenHere = seen.get(range) ?? new SeenBatches();
    seen.set(range, seenHere);
    for (const message of messages) {
      const { file, groups } = message;
      if (!files.isPassed(file) || !seenHere.add(message)) continue;
      const isCollapsed = files.isCollapsed(file);
      eachGroup(groups, (start, end, at, devices) => {
        const key = isCollapsed ? names.add(otherEvents) : names.add(groups, start, end);
        pairs.add(groups, at, devices, key, files_counted ? ALL_FILES : file, kept);
      });
    }
  }
  pairs.renumberKeys(await numberKeys(names.entries.texts()));
  const { devices, filePairs } = sortPairs(pairs, hash);
  return {
    devices,
    uniqueDevices: devices.count,
    pairs: pairs.count,
    filePairs: files_counted ? new Map() : filePairs,
  };
}
