/** Files that partners upload in fault tests: mostly valid, some invalid, from a pool of devices so that jobs overlap. */
import { gzipSync } from 'node:zlib';
import type { Random } from './random.ts';

/** Devices of one lane. Lanes share none, so they do not affect each other. */
export const POOL = 20_000;

export const deviceOf = (tag: string, n: number) =>
  `${tag}-0000-4000-8000-${(n % POOL).toString(16).padStart(12, '0')}`;

interface MadeFile {
  name: string;
  bytes: Buffer;
  rows: number;
}

export type RowCount = 'small' | 'mixed' | number;

function rowCount(random: Random, size: RowCount): number {
  if (typeof size === 'number') return size;
  if (size === 'mixed' && random.chance(0.1)) return 10_000 + random.below(20_000);
  return 1 + random.below(random.chance(0.3) ? 2_500 : 300);
}

export function makeFile(
  random: Random,
  { tag, values, size, gzip }: { tag: string; values: readonly string[]; size: RowCount; gzip: boolean },
): MadeFile {
  const device = (n: number) => deviceOf(tag, n);
  const count = rowCount(random, size);
  const first = random.below(POOL);
  const step = 1 + random.below(7);
  const lines: string[] = random.chance(0.3) ? ['device_id,value'] : [];
  for (let i = 0; i < count; i++) {
    const n = random.chance(0.1) ? random.below(POOL) : first + i * step;
    lines.push(`${device(n)},${values[(first + i) % values.length]}`);
  }
  // At most one row in forty is malformed: the file loads, and its rejected rows are kept.
  for (let i = 0; i < count / 80; i++)
    lines.push(random.chance(0.5) ? `nobody ${i},x` : `${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)},x`);
  // Callers that ask for an exact number of rows rely on them.
  const flaw =
    typeof size !== 'number' && random.chance(0.08)
      ? random.pick(['invalid', 'columns', 'empty'] as const)
      : undefined;
  if (flaw === 'invalid') for (let i = 0; i <= count / 10; i++) lines.push(`junk ${i},x`);
  if (flaw === 'columns') lines.splice(lines.length >> 1, 0, `${device(1)}`);
  const text = Buffer.from(flaw === 'empty' ? '' : `${lines.join('\n')}\n`);
  const name = `${random.below(2 ** 31).toString(36)}.csv${gzip ? '.gz' : ''}`;
  return { name, bytes: gzip ? gzipSync(text, { level: 1 }) : text, rows: count };
}
