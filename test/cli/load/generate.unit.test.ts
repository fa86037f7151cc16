import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../deploy/cli/load/generate.ts';
import { Parsed, parseIdentifier, WORDS } from '../../../pipeline/formats/identifier.ts';

const keys = ['1', '22', 'three'];
const linesOf = (bytes: Buffer) => bytes.toString('latin1').trimEnd().split('\n');

describe('the generator', () => {
  it('knows exactly what it has written', () => {
    const generator = createGenerator({ seed: 7, duplicates: 0.3, keys });
    const files = [7_500, 7_500, 7_500, 7_501].map((rows) => generator.nextFile({ rows }));
    const lines = files.flatMap(({ bytes }) => linesOf(bytes));
    const devices = new Set(lines.map((line) => line.slice(0, 36)));
    const byKey = keys.map((key) => new Set(lines.filter((line) => line.slice(37) === key)).size);
    expect(generator.counts()).toEqual({
      rows: 30_001,
      devices: devices.size,
      devicesByKey: byKey,
      invalid: [],
    });
    expect(lines).toHaveLength(30_001);
    expect(files.reduce((sum, { newDevices }) => sum + newDevices, 0)).toBe(devices.size);
    expect(1 - devices.size / lines.length).toBeCloseTo(0.3, 1);
  });

  it('writes identifiers that the service accepts', () => {
    const { bytes } = createGenerator({ seed: 1, duplicates: 0, keys: [''] }).nextFile({ rows: 1_000 });
    const target = new Uint32Array(WORDS);
    for (let at = 0; at < bytes.length; at += 38) expect(parseIdentifier(bytes, at, target)).toBe(Parsed.ok);
  });

  it('writes the same for the same seed, and something else for another', () => {
    const file = (seed: number) =>
      createGenerator({ seed, duplicates: 0.2, keys }).nextFile({ rows: 1_000 }).bytes;
    expect(file(3).equals(file(3))).toBe(true);
    expect(file(3).equals(file(4))).toBe(false);
  });

  it('repeats no row of another file where a file has a key of its own', () => {
    const generator = createGenerator({ seed: 5, duplicates: 0.5, keys });
    const files = [0, 1, 0].map((onlyKey) => generator.nextFile({ rows: 500, onlyKey }));
    const distinct = files.map(({ bytes }) => new Set(linesOf(bytes)));
    expect(files.map(({ newDevices }) => newDevices)).toEqual(distinct.map((lines) => lines.size));
    const devices = new Set(distinct.flatMap((lines) => [...lines].map((line) => line.slice(0, 36))));
    expect(devices.size).toBe(generator.counts().devices);
    expect(generator.counts().devicesByKey).toEqual([
      distinct[0]!.size + distinct[2]!.size,
      distinct[1]!.size,
      0,
    ]);
  });

  it('writes as many invalid rows as it is told to, evenly and in turn, and no more in any file', () => {
    const rows = ['nobody,1', 'no key'];
    const generator = createGenerator({ seed: 5, duplicates: 0.5, keys, invalid: { share: 0.03, rows } });
    const files = [1_000, 10, 50, 120].map((count) => linesOf(generator.nextFile({ rows: count }).bytes));
    const isInvalid = (line: string) => rows.includes(line);
    expect(files.map((lines) => lines.length)).toEqual([1_000, 10, 50, 120]);
    expect(files.map((lines) => lines.filter(isInvalid).length)).toEqual([30, 0, 1, 3]);
    expect(generator.counts()).toMatchObject({ rows: 1_180, invalid: [17, 17] });
    const valid = files.flat().filter((line) => !isInvalid(line));
    expect(new Set(valid.map((line) => line.slice(0, 36))).size).toBe(generator.counts().devices);
  });
});
