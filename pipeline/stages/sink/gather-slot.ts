/** Sorts what came for a job in one slot, or in a range of it, and counts it. */
import type { CommitMarker } from '../../../schemas/topics.ts';
import type { InRange } from '../../formats/address-ranges.ts';
import { IDENTIFIER_BYTES } from '../../formats/identifier.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import type { Devices } from '../../sets/devices.ts';
import { sortPairs } from '../../sets/sort-pairs.ts';
import type { VerdictStore } from '../../stores/verdicts.ts';

export interface GatheredSlot {
  devices: Devices;
  uniqueDevices: number;
  pairs: number;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
}

/** The numbers of keys: attributes are numbers already, events have one in the audience's dictionary. */
export type NumberKeys = (keys: Iterable<string>) => Promise<Map<string, number>>;

/** Only files that passed, and each batch once. */
export async function gatherSlot(
  marker: CommitMarker,
  messages: AsyncIterable<InRange>,
  verdicts: Pick<VerdictStore, 'passedOf' | 'collapsedOf'>,
  numberKeys: NumberKeys,
): Promise<GatheredSlot> {
  const isPassed = await verdicts.passedOf(marker);
  const isCollapsed = await verdicts.collapsedOf(marker);
  const seen = new Set<string>();
  const groups: { name: string; file: number; devices: Uint8Array }[] = [];
  let count = 0;
  for await (const { range, message } of messages) {
    const { file, batch, part, groups: some } = message;
    const name = `${range}.${file}.${batch}.${part}`;
    if (!isPassed(file) || seen.has(name)) continue;
    seen.add(name);
    // As if there were one file, where nobody asks for the pairs of each.
    const counted = marker.files_counted ? 0 : file;
    for (const { key, devices } of some) {
      count += devices.length / IDENTIFIER_BYTES;
      groups.push({ name: isCollapsed(file) ? OTHER_EVENTS : key, file: counted, devices });
    }
  }
  const numbers = await numberKeys(new Set(groups.map(({ name }) => name)));
  const numbered = groups.map(({ name, ...group }) => ({ key: numbers.get(name) ?? 0, ...group }));
  const { devices, filePairs } = sortPairs({ groups: numbered, count });
  if (marker.files_counted) filePairs.clear();
  return { devices, uniqueDevices: devices.count, pairs: count, filePairs };
}
