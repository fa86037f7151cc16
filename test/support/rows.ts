/** Generators of test files. */
import { randomBytes, randomUUID } from 'node:crypto';

export const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

/** The form in which the driver returns the members of a set. */
export const asMembers = (list: Iterable<string>): Set<string> =>
  new Set([...list].map((id) => id.replaceAll('-', '').toLowerCase()));

export const file = (list: string[], rest: string | number): string =>
  list.map((id) => `${id},${rest}\n`).join('');

/** Many rows fast: distinct identifiers as hex from one pool of random bytes. */
export function bigFile(count: number, rest: string | number): Buffer {
  const line = 37 + String(rest).length + 1;
  const target = Buffer.alloc(count * line);
  const pool = randomBytes(count * 16).toString('hex');
  for (let i = 0; i < count; i++) {
    const hex = pool.slice(i * 32, i * 32 + 32);
    target.write(
      `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)},${rest}\n`,
      i * line,
      'latin1',
    );
  }
  return target;
}
