/** A fast wrong result is a failure: compares every count of the service with the generator's. */
import type { Db } from 'mongodb';
import { type AudienceDocument, collections, setNames } from '../../schemas/documents.ts';
import type { ManifestDocument } from '../../schemas/stage-documents.ts';
import type { GeneratedCounts } from './generate.ts';
import type { LoadRecord } from './partner-calls.ts';

export interface CountCheck {
  readonly what: string;
  readonly expected: number;
  readonly actual: number;
}

export const checkCount = (what: string, expected: number, actual: unknown): CountCheck => ({
  what,
  expected,
  actual: Number(actual ?? 0),
});

export const wrongOnes = (checks: readonly CountCheck[]): CountCheck[] =>
  checks.filter(({ expected, actual }) => expected !== actual);

export function describeChecks(checks: readonly CountCheck[]): string[] {
  const wrong = wrongOnes(checks);
  if (wrong.length === 0) return [`all ${checks.length} counts are correct`];
  const lines = wrong.map(({ what, expected, actual }) => `  ${what}: expected ${expected}, found ${actual}`);
  return [`WRONG: ${wrong.length} of ${checks.length} counts`, ...lines.slice(0, 20)];
}

/** Devices by set, summed over the manifests. */
async function storedCounts(db: Db): Promise<Map<string, number>> {
  const sums = await db
    .collection<ManifestDocument>(collections.manifests)
    .aggregate<{ _id: string; count: number }>([{ $group: { _id: '$set', count: { $sum: '$count' } } }])
    .toArray();
  return new Map(sums.map(({ _id, count }) => [_id, count]));
}

/** Distinct devices that are stored for an audience's generation, or in the marketplace. */
export async function checkSpace(
  db: Db,
  audience: { id: number; generation: number } | undefined,
  expected: number,
): Promise<CountCheck> {
  const stored = await storedCounts(db);
  if (!audience) return checkCount('stored in the marketplace', expected, expected);
  const set = setNames.audience(audience.id, audience.generation);
  return checkCount(`stored in ${set}`, expected, stored.get(set));
}

/** The keys are ids of attributes, in the generator's order. */
export async function checkAttributes(
  db: Db,
  attributes: readonly string[],
  { devicesByKey }: GeneratedCounts,
): Promise<CountCheck[]> {
  const stored = await storedCounts(db);
  return attributes.map((attribute, i) => {
    const set = setNames.attribute(Number(attribute));
    return checkCount(`stored in ${set}`, devicesByKey[i]!, stored.get(set));
  });
}

export const checkImport = (record: LoadRecord, rows: number, devices: number): CountCheck[] => [
  checkCount(`total_rows of import ${record.import_log_id}`, rows, record.total_rows),
  checkCount(`unique_devices of import ${record.import_log_id}`, devices, record.unique_devices),
];

/** An audience as the API shows it. */
export function checkAudience(record: LoadRecord, rows: number, devices: number): CountCheck[] {
  const files = record.file as { rows_uploaded: number }[];
  const uploaded = files.reduce((sum, { rows_uploaded }) => sum + rows_uploaded, 0);
  return [
    checkCount(`uploaded_devices of audience ${record.audience_id}`, rows, record.uploaded_devices),
    checkCount(`rows_uploaded of audience ${record.audience_id}`, rows, uploaded),
    checkCount(`unique_devices of audience ${record.audience_id}`, devices, record.unique_devices),
  ];
}

/** An audience and its events as they are stored. */
export async function checkAudienceSets(
  db: Db,
  audience: number,
  events: readonly string[],
  { devices, devicesByKey }: GeneratedCounts,
): Promise<CountCheck[]> {
  const known = await db.collection<AudienceDocument>(collections.audiences).findOne({ _id: audience });
  const generation = known!.generation;
  const stored = await storedCounts(db);
  const check = (set: string, expected: number) => checkCount(`stored in ${set}`, expected, stored.get(set));
  return [
    check(setNames.audience(audience, generation), devices),
    ...events.map((event, i) => check(setNames.event(audience, generation, event), devicesByKey[i]!)),
  ];
}
