/** A fast wrong answer is a failure: every count that the service gives, against the generator's. */
import type { Db } from 'mongodb';
import { collections, type ManifestDocument } from '../../schemas/documents.ts';

export interface CountCheck {
  readonly what: string;
  readonly expected: number;
  readonly actual: number;
}

export class WrongCounts extends Error {}

export const wrongOnes = (checks: readonly CountCheck[]): CountCheck[] =>
  checks.filter(({ expected, actual }) => expected !== actual);

/** Returns how many there were. */
export function requireEqual(checks: readonly CountCheck[]): number {
  const wrong = wrongOnes(checks);
  if (wrong.length > 0) {
    const lines = wrong
      .slice(0, 20)
      .map(({ what, expected, actual }) => `  ${what}: expected ${expected}, found ${actual}`);
    throw new WrongCounts(`${wrong.length} of ${checks.length} counts are wrong:\n${lines.join('\n')}`);
  }
  return checks.length;
}

/** Devices by set, summed over the manifests. */
export async function storedCounts(db: Db): Promise<Map<string, number>> {
  const sums = await db
    .collection<ManifestDocument>(collections.manifests)
    .aggregate<{ _id: string; count: number }>([{ $group: { _id: '$set', count: { $sum: '$count' } } }])
    .toArray();
  return new Map(sums.map(({ _id, count }) => [_id, count]));
}
