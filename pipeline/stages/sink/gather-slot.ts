/** Sorts what came for a job in one slot into the sets that it goes to. */
import { setNames } from '../../../schemas/documents.ts';
import type { CommitMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import { concatenate, countDistinct, deviceCount, sortDistinct, union } from '../../sets/packed.ts';
import { type KeyRange, within } from './key-ranges.ts';

/** The devices of one job in one slot. */
export interface GatheredSlot {
  job: number;
  slot: number;
  /** Sorted and distinct, by set. */
  sets: Map<string, Uint8Array>;
  uniqueDevices: number;
  pairs: number;
  filePairs: number[];
}

export interface Gathering {
  add(message: ValidatedDevices): void;
  finish(): GatheredSlot;
}

/** Instead of a file, where pairs are not counted by file. */
const ALL_FILES = -1;

/** Only files that passed, each batch once, and of those the identifiers in the range. */
export function gatherSlot(
  marker: CommitMarker,
  files: { isPassed(file: number): boolean; isCollapsed(file: number): boolean },
  slot: number,
  range: KeyRange,
): Gathering {
  const seen = new Set<string>();
  const byFile = new Map<number, Map<string, Uint8Array[]>>();
  let pairs = 0;

  return {
    add({ file, batch, part, groups }) {
      const name = `${file}.${batch}.${part}`;
      if (!files.isPassed(file) || seen.has(name)) return;
      seen.add(name);
      const counted = marker.files_counted ? ALL_FILES : file;
      const bySet = byFile.get(counted) ?? new Map<string, Uint8Array[]>();
      byFile.set(counted, bySet);
      for (const group of groups) {
        const devices = within(group.devices, range);
        pairs += deviceCount(devices);
        const set = files.isCollapsed(file) ? OTHER_EVENTS : group.key;
        const known = bySet.get(set);
        if (known) known.push(devices);
        else bySet.set(set, [devices]);
      }
    },
    finish: () => ({ job: marker.job, slot, pairs, ...sortIntoSets(marker, byFile) }),
  };
}

function sortIntoSets(
  marker: CommitMarker,
  byFile: Map<number, Map<string, Uint8Array[]>>,
): Pick<GatheredSlot, 'sets' | 'uniqueDevices' | 'filePairs'> {
  const filePairs: number[] = [];
  const byKey = new Map<string, Uint8Array[]>();
  for (const [file, bySet] of byFile) {
    let distinct = 0;
    for (const [key, parts] of bySet) {
      const devices = sortDistinct(concatenate(parts));
      distinct += deviceCount(devices);
      const known = byKey.get(key);
      if (known) known.push(devices);
      else byKey.set(key, [devices]);
    }
    if (file !== ALL_FILES) filePairs.push(file, distinct);
  }

  const keyed = [...byKey].map(([key, parts]) => ({ key, devices: union(parts) }));
  const all = keyed.map(({ devices }) => devices);
  const sets = new Map<string, Uint8Array>();
  if (marker.audience === null) {
    for (const { key, devices } of keyed) sets.set(setNames.attribute(Number(key)), devices);
    return { sets, uniqueDevices: countDistinct(all), filePairs };
  }
  const everyone = union(all);
  const { audience, generation } = marker;
  if (everyone.length > 0) sets.set(setNames.audience(audience, generation!), everyone);
  for (const { key, devices } of keyed)
    if (key !== '') sets.set(setNames.event(audience, generation!, key), devices);
  return { sets, uniqueDevices: deviceCount(everyone), filePairs };
}
