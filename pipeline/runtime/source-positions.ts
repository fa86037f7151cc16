/**
 * Maps positions in a stack trace from compiled files to sources. --enable-source-maps would do so for every stack that is read, drivers'
 * included: a tenth of a second per thread at every start.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

const position = /([\s(])(?:file:\/\/)?(\/[^\s():]*):(\d+):(\d+)/g;
const maps = new Map<string, SourceMap | undefined>();

function mapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}

export const withSourcePositions = (stack: string): string =>
  stack.replace(position, (found, before: string, file: string, line: string, column: string) => {
    if (!file.endsWith('.cjs')) return found;
    if (!maps.has(file)) maps.set(file, mapOf(file));
    const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!entry || !('originalSource' in entry)) return found;
    const source = entry.originalSource.replace(/^(\.\.\/)+/, '');
    return `${before}${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
