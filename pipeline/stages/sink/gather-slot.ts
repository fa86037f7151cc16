/** Sorts what came for a job in one slot, or in a range of it, and counts it. */
import type { CommitMarker } from '../../../schemas/topics.ts';
import type { InRange } from '../../formats/address-ranges.ts';
import { IDENTIFIER_BYTES } from '../../formats/identifier.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import type { Devices } from '../../sets/devices.ts';
import { sortPairs } from '../../sets/sort-pairs.ts';

export interface GatheredSlot {
  devices: Devices;
  uniqueDevices: number;
  pairs: number;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
}

/** The numbers of keys: attributes are numbers already, events have one in the audience's dictionary. */
export type NumberKeys = (keys: Iterable<string>) => Promise<Map<string, number>>;

/** Instead of a file, where pairs are not counted by file. */
const ALL_FILES = 0;

/** Only files that passed, and each batch once. */
export async function gatherSlot(
  { files_counted }: CommitMarker,
  files: { isPassed(file: number): boolean; isCollapsed(file: number): boolean },
  messages: AsyncIterable<InRange>,
  numberKeys: NumberKeys,
): Promise<GatheredSlot> {
  const seen = new Set<string>();
  const groups: { name: string; file: number; devices: Uint8Array }[] = [];
  let count = 0;
  for await (const { range, message } of messages) {
    const { file, batch, part, groups: some } = message;
    const name = `${range}.${file}.${batch}.${part}`;
    if (!files.isPassed(file) || seen.has(name)) continue;
    seen.add(name);
    for (const { key, devices } of some) {
      count += devices.length / IDENTIFIER_BYTES;
      groups.push({
        name: files.isCollapsed(file) ? OTHER_EVENTS : key,
        file: files_counted ? ALL_FILES : file,
        devices,
      });
    }
  }
  const numbers = await numberKeys(new Set(groups.map(({ name }) => name)));
  const numbered = groups.map(({ name, ...group }) => ({ key: numbers.get(name) ?? 0, ...group }));
  const { devices, filePairs } = sortPairs({ groups: numbered, count });
  return {
    devices,
    uniqueDevices: devices.count,
    pairs: count,
    filePairs: files_counted ? new Map() : filePairs,
  };
}
