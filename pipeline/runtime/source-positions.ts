/**
 * Positions in the compiled files of a stack trace as positions in their sources. Node could do this (--enable-source-maps), but for every
 * error whose stack anyone reads, also drivers': a tenth of a second in each thread, at every start.
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
