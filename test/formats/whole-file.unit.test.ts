/** Cutter and parser over whole files against the slow oracle, and the oracle's parsing of rows against csv-parse. */
import { parse as parseCsv } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Cut, createRowCutter } from '../../pipeline/formats/cut-rows.ts';
import { createKeyTable } from '../../pipeline/formats/key-table.ts';
import { OTHER_EVENTS, parseRows } from '../../pipeline/formats/parse-rows.ts';
import { decodeGroups } from '../../pipeline/wire/device-groups.ts';
import { testSlots } from '../sets/devices.ts';
import { type FileVerdict, readFileOracle } from '../support/oracle-file.ts';
import { type GeneratedFile, generatedFile, inChunks, KEYS, largeFile } from './generate-file.ts';
import { formatIdentifier, slotOf } from './identifiers.ts';

const keys = createKeyTable([...KEYS].map(([key, attribute]) => ({ key, attribute })));

function cutAll(bytes: Buffer, batchBytes: number, sizes: number[] = []): Cut[] {
  const cutter = createRowCutter(batchBytes, null);
  return [...inChunks(bytes, sizes).flatMap((chunk) => cutter.push(chunk)), ...cutter.finish()];
}

/** The file as the pipeline reads it: batch by batch, then combined. */
function readFile({ bytes, layout }: GeneratedFile, batchBytes: number, sizes: number[]): FileVerdict {
  const total: FileVerdict = {
    failure: null,
    rows: 0,
    accepted: 0,
    rejected: {},
    devices: new Map(),
    events: new Map(),
    pairsRead: 0,
    rejects: [],
  };
  let overflow = false;
  for (const cut of cutAll(bytes, batchBytes, sizes)) {
    const parsed = parseRows(
      { ...cut, layout },
      { keys, slots: testSlots, maxRejects: Number.MAX_SAFE_INTEGER },
    );
    total.rows += parsed.rows;
    total.accepted += parsed.accepted;
    total.pairsRead += parsed.pairsRead;
    total.rejects.push(...parsed.rejects);
    for (const [code, count] of Object.entries(parsed.rejected)) {
      total.rejected[code] = (total.rejected[code] ?? 0) + count;
    }
    for (const { event, rows } of parsed.events ?? []) {
      total.events.set(event, (total.events.get(event) ?? 0) + rows);
    }
    overflow ||= parsed.eventsOverflow === true;
    let pairs = 0;
    for (const { slot, pairs: inSlot, groups: encoded } of parsed.slots) {
      const groups = decodeGroups(encoded);
      expect(groups.reduce((sum, group) => sum + group.devices.length / 16, 0)).toBe(inSlot);
      pairs += inSlot;
      for (const { key, devices } of groups) {
        const set = total.devices.get(key) ?? new Set();
        total.devices.set(key, set);
        const own = new Set<string>();
        const slots = new Set<number>();
        for (let at = 0; at < devices.length; at += 16) {
          slots.add(slotOf(devices, at));
          own.add(formatIdentifier(devices, at));
        }
        expect([...slots]).toEqual([slot]);
        expect(own.size, 'distinct within a batch and key').toBe(devices.length / 16);
        for (const device of own) set.add(device);
      }
    }
    expect(pairs).toBe(parsed.pairs);
    const failure = cut.failure ?? parsed.failure;
    if (failure) {
      const { code, line } = failure;
      total.failure = { code, ...(line === null ? {} : { line }) };
      break;
    }
    expect(parsed.rows).toBe(
      parsed.accepted + Object.values(parsed.rejected).reduce((sum, count) => sum + count, 0),
    );
  }
  if (overflow || total.events.size > 1_000) {
    total.devices = new Map([
      [OTHER_EVENTS, new Set([...total.devices.values()].flatMap((set) => [...set]))],
    ]);
    total.events = new Map([[OTHER_EVENTS, total.accepted]]);
  }
  return total;
}

const batchBytes = fc.integer({ min: 1_000, max: 5_000 });
const chunkSizes = fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 5 });
const oracleOf = ({ bytes, layout }: GeneratedFile) =>
  readFileOracle(bytes, {
    ...(layout === 'audience' ? { layout } : { layout, keys: KEYS }),
    maxInvalidShare: 1,
  });
/** An empty file is detected later, when the batches are added up. */
const byRows = (verdict: FileVerdict) =>
  verdict.failure?.code === 'empty_file' ? { ...verdict, failure: null } : verdict;

describe('cutting and parsing a file', () => {
  const agrees = (file: GeneratedFile, size: number, sizes: number[]): 'loads' | 'fails' => {
    const expected = byRows(oracleOf(file));
    const found = readFile(file, size, sizes);
    if (!expected.failure) expect(found).toEqual(expected);
    // Devices of a failed file are dropped, so how far it was read does not matter.
    expect(found.failure).toEqual(expected.failure);
    return expected.failure ? 'fails' : 'loads';
  };

  it('amounts to what the oracle says', () => {
    const outcomes = { loads: 0, fails: 0 };
    fc.assert(
      fc.property(generatedFile, batchBytes, chunkSizes, (file, size, sizes) => {
        outcomes[agrees(file, size, sizes)]++;
      }),
      { numRuns: 300 },
    );
    expect(Math.min(outcomes.loads, outcomes.fails)).toBeGreaterThan(0);
  });

  it('amounts to what the oracle says for large files with rows around the limits', () => {
    const outcomes = { loads: 0, fails: 0 };
    fc.assert(
      fc.property(largeFile, fc.constantFrom(1_000, 65_536, 150_000), (file, size) => {
        outcomes[agrees(file, size, [65_536])]++;
      }),
      { numRuns: 40 },
    );
    expect(Math.min(outcomes.loads, outcomes.fails)).toBeGreaterThan(0);
  });

  it('collapses events of a file that has more than 1,000 of them, in one batch or over several', () => {
    for (const [events, size] of [
      [1_000, 900_000],
      [1_001, 900_000],
      [1_001, 5_000],
      [3_000, 50_000],
    ] as const) {
      const rows = Array.from({ length: 2 * events }, (_, number) => {
        const device = `${String(number % 700).padStart(8, '0')}-0000-4000-8000-0000000000ff`;
        return `${device},event-${number % events}\n`;
      });
      const file = { bytes: Buffer.from(rows.join('')), layout: 'audience' as const };
      const found = readFile(file, size, [65_536]);
      expect(found.events.size).toBe(events === 1_000 ? 1_000 : 1);
      const { events: foundEvents, devices } = found;
      const expected = oracleOf(file);
      expect({ foundEvents, devices }).toEqual({ foundEvents: expected.events, devices: expected.devices });
    }
  });
});

describe('the oracle', () => {
  it('reads rows as csv-parse does, where they are well-formed', () => {
    const value = fc.string({
      unit: fc.constantFrom('a', 'ü', '"', '\n', '\r', ',', ';', '\t', '|', ' ', '0'),
      maxLength: 6,
    });
    const delimiter = fc.constantFrom(',', '\t', ';', '|');
    fc.assert(
      fc.property(
        fc.array(fc.array(value, { minLength: 1, maxLength: 4 }), { maxLength: 20 }),
        delimiter,
        (rows, by) => {
          const quote = (text: string) => (/^[a0ü]+$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);
          // The first row determines the delimiter; an invalid identifier rejects every row, and rejects keep their text.
          const text = [['x', 'y'], ...rows].map((row) => `${row.map(quote).join(by)}\n`).join('');
          const reference = parseCsv(text, {
            delimiter: by,
            relax_column_count: true,
            raw: true,
            record_delimiter: '\n',
          }) as unknown as { raw: string; record: string[] }[];
          const verdict = readFileOracle(Buffer.from(text), {
            layout: 'attributes',
            keys: new Map(),
            maxInvalidShare: 1,
          });
          expect(verdict.rejected).toEqual({ bad_identifier: reference.length });
          expect(verdict.rejects.map(({ raw }) => raw)).toEqual(
            reference.map(({ raw }) => raw.replace(/\r?\n$/, '')),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  it('reads values as csv-parse does', () => {
    const value = fc.string({
      unit: fc.constantFrom('a', 'ü', '"', '\n', ',', ';', '\t', '|', ' '),
      maxLength: 6,
    });
    const delimiter = fc.constantFrom(',', '\t', ';', '|');
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 20 }), delimiter, (values, by) => {
        const device = 'abcdef01-0000-4000-8000-0000000000ff';
        // csv-parse would trim a tab, too.
        const trim = by !== '\t';
        const pad = trim ? ' ' : '';
        const text = values
          .map((event) => `${device}${by}${pad}"${event.replaceAll('"', '""')}"${pad}\r\n`)
          .join('');
        const reference = parseCsv(text, { delimiter: by, trim }) as string[][];
        const { events } = readFileOracle(Buffer.from(text), { layout: 'audience' });
        // Spaces in quotes are trimmed, too.
        const expected = reference.map(([, event]) => event!.replace(/^ +| +$/g, ''));
        expect(new Set(events.keys())).toEqual(new Set(expected));
      }),
      { numRuns: 150 },
    );
  });
});
