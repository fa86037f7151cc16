/** Sorts and counts the devices of a job in one slot, or in a range of it. */
import type { JobMarker, ValidatedDevices } from '../../../schemas/topics.ts';
import type { Addresses, InRange } from '../../formats/address-ranges.ts';
import { ByteTable } from '../../formats/byte-table.ts';
import type { DeviceHash } from '../../formats/device-hash.ts';
import { IDENTIFIER_BYTES } from '../../formats/identifier.ts';
import { OTHER_EVENTS } from '../../formats/parse-rows.ts';
import { SeenBatches } from '../../formats/seen-batches.ts';
import { asBytes, createWriter, type Devices, firstKey } from '../../sets/devices.ts';
import type { Suppressed } from '../../sets/edit-slot.ts';
import { Pairs, sortPairsInTurns } from '../../sets/sort-pairs.ts';
import { eachGroup } from '../../wire/device-groups.ts';

export interface GatheredSlot {
  /** Without suppressed devices. */
  devices: Devices;
  /** Includes suppressed devices, as do `pairs` and `filePairs`. */
  uniqueDevices: number;
  pairs: number;
  /** Distinct pairs, by file. */
  filePairs: Map<number, number>;
  suppressed: Suppressed | undefined;
}

/** Maps keys to numbers: attributes are numbers already, events have one in the audience's dictionary. */
export type NumberKeys = (keys: string[]) => Promise<number[]>;

/** Flags suppressed devices with 1; undefined: none. */
export type SuppressedAmong = (devices: Devices) => Promise<Uint8Array | undefined>;

interface PassedFiles {
  isPassed(file: number): boolean;
  isCollapsed(file: number): boolean;
}

/** Can be read repeatedly. */
type Ranges = () => AsyncIterable<InRange>;

/** Stands for the file number where pairs are not counted by file. */
const ALL_FILES = 0;
const otherEvents = Buffer.from(OTHER_EVENTS);

/** Takes only files that passed, each batch once. */
export async function gatherSlot(
  { files_counted }: JobMarker,
  files: PassedFiles,
  ranges: Ranges,
  numberKeys: NumberKeys,
  hash: DeviceHash,
  options: { where?: Addresses | undefined; suppressedAmong?: SuppressedAmong | undefined } = {},
): Promise<GatheredSlot> {
  const { where, suppressedAmong } = options;
  const pairs = new Pairs();
  const names = new ByteTable();
  const kept = where && { ...where, hash };
  for await (const { file, groups } of messagesIn(files, ranges)) {
    const isCollapsed = files.isCollapsed(file);
    eachGroup(groups, (start, end, at, devices) => {
      const key = isCollapsed ? names.add(otherEvents) : names.add(groups, start, end);
      pairs.add(groups, at, devices, key, files_counted ? ALL_FILES : file, kept);
    });
  }
  pairs.renumberKeys(await numberKeys(names.entries.texts()));
  const { devices, filePairs } = await sortPairsInTurns(pairs, hash);
  const counts = {
    uniqueDevices: devices.count,
    pairs: pairs.count,
    filePairs: files_counted ? new Map<number, number>() : filePairs,
  };
  const flags = await suppressedAmong?.(devices);
  if (!flags) return { devices, ...counts, suppressed: undefined };
  const { left, out } = divide(devices, flags);
  const byFile = await countByFile(out, files, ranges);
  return { devices: left, ...counts, suppressed: { devices: out.size, byFile } };
}

async function* messagesIn(files: PassedFiles, ranges: Ranges): AsyncGenerator<ValidatedDevices> {
  /** By range: a batch appears in every range that it has devices in. */
  const seen = new Map<number, SeenBatches>();
  for await (const { range, messages } of ranges()) {
    const seenHere = seen.get(range) ?? new SeenBatches();
    seen.set(range, seenHere);
    for (const message of messages) if (files.isPassed(message.file) && seenHere.add(message)) yield message;
  }
}

/** Identifier bytes as a compact string. */
const nameAt = (bytes: Uint8Array, at: number) =>
  Buffer.from(bytes.buffer, bytes.byteOffset + at, IDENTIFIER_BYTES).toString('latin1');

function divide(devices: Devices, flags: Uint8Array): { left: Devices; out: Set<string> } {
  const { words, ends, keys } = devices;
  const bytes = asBytes(words);
  const left = createWriter(devices.count, keys.length);
  const out = new Set<string>();
  for (let n = 0; n < devices.count; n++) {
    if (flags[n] === 1) {
      out.add(nameAt(bytes, n * IDENTIFIER_BYTES));
      continue;
    }
    left.begin(devices, n);
    for (let key = firstKey(devices, n); key < ends[n]!; key++) left.key(keys[key]!);
  }
  return { left: left.finish(), out };
}

/** A second pass over all messages, needed only if devices are suppressed. */
async function countByFile(
  out: Set<string>,
  files: PassedFiles,
  ranges: Ranges,
): Promise<Map<number, number>> {
  const found = new Map<number, Set<string>>();
  for await (const { file, groups } of messagesIn(files, ranges)) {
    eachGroup(groups, (_start, _end, at, devices) => {
      for (let end = at + devices * IDENTIFIER_BYTES, from = at; from < end; from += IDENTIFIER_BYTES) {
        const name = nameAt(groups, from);
        if (out.has(name)) found.set(file, (found.get(file) ?? new Set()).add(name));
      }
    });
  }
  return new Map([...found].map(([file, names]) => [file, names.size]));
}
