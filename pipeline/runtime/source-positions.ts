/**
 * Maps positions in a stack trace from compiled files to sources. --enable-source-maps would do so for every stack that is read, drivers'
 * included: a tenth of a second per thread at every start. node:module's SourceMap would block a process for half a second at its first
 * error, and keep 80 MB.
 */
import { readFileSync } from 'node:fs';

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
  /** Where the mappings of each compiled line start, and the five fields before them. */
  readonly starts: Int32Array;
  readonly fields: Int32Array;
}

const position = /([\s(])(?:file:\/\/)?(\/[^\s():]*):(\d+):(\d+)/g;
const maps = new Map<string, SourceMap | undefined>();

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Uint8Array(128);
for (const [value, digit] of [...digits].entries()) values[digit.charCodeAt(0)] = value;
const [COMMA, SEMICOLON] = [','.charCodeAt(0), ';'.charCodeAt(0)];

/**
 * Adds the mappings of one compiled line to the fields: compiled column, source, its line and column, name; all from 0. Stops before
 * the first mapping to the right of a column. Returns the start of the next line.
 */
function addLine(mappings: string, start: number, fields: Int32Array, column?: number): number {
  const before = column === undefined ? undefined : fields.slice();
  let field = 0;
  let value = 0;
  let shift = 0;
  for (let i = start; ; i++) {
    const code = i < mappings.length ? mappings.charCodeAt(i) : SEMICOLON;
    if (code === COMMA || code === SEMICOLON) {
      if (before && fields[0]! > column!) {
        fields.set(before);
        return i;
      }
      if (code === SEMICOLON) return i + 1;
      before?.set(fields);
      field = 0;
      continue;
    }
    const bits = values[code]!;
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    fields[field++]! += value & 1 ? -(value >>> 1) : value >>> 1;
    value = 0;
    shift = 0;
  }
}

function mapOf(file: string): SourceMap | undefined {
  try {
    const { sources, mappings } = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMap;
    const count = mappings.split(';').length;
    const [starts, fields] = [new Int32Array(count), new Int32Array(5 * count)];
    const current = new Int32Array(5);
    for (let line = 0, start = 0; line < count; line++) {
      current[0] = 0;
      starts[line] = start;
      fields.set(current, 5 * line);
      start = addLine(mappings, start, current);
    }
    return { sources, mappings, starts, fields };
  } catch {
    return undefined;
  }
}

function sourceOf(file: string, line: number, column: number): string | undefined {
  if (!maps.has(file)) maps.set(file, mapOf(file));
  const map = maps.get(file);
  const start = map?.starts[line - 1];
  if (!map || start === undefined || (map.mappings[start] ?? ';') === ';') return undefined;
  const fields = map.fields.slice(5 * (line - 1), 5 * line);
  addLine(map.mappings, start, fields, column - 1);
  const source = map.sources[fields[1]!]!.replace(/^(\.\.\/)+/, '');
  return `${source}:${fields[2]! + 1}:${fields[3]! + 1}`;
}

export const withSourcePositions = (stack: string): string =>
  stack.replace(position, (found, before: string, file: string, line: string, column: string) => {
    const source = file.endsWith('.cjs') && sourceOf(file, Number(line), Number(column));
    return source ? before + source : found;
  });
