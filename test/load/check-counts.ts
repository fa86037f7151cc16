/** A fast wrong result is a failure: compares every count of the service with the generator's. */
import type { Db } from 'mongodb';
import type { GeneratedCounts } from '../../deploy/cli/load/generate.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { spaces } from '../../schemas/documents.ts';
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

/** The distinct devices stored in a space. */
export const checkSpace = async (db: Db, space: string, expected: number): Promise<CountCheck> =>
  checkCount(`devices in ${space}`, expected, await createDeviceSets(db).count(space));

/** The keys are attribute ids, in the generator's order. */
export async function checkAttributes(
  db: Db,
  keys: readonly string[],
  { devices, devicesByKey }: GeneratedCounts,
): Promise<CountCheck[]> {
  const stored = await createAttributeDeviceStore(db).of(keys.map(Number));
  return [
    await checkSpace(db, spaces.marketplace, devices),
    ...keys.map((key, i) => checkCount(`devices of ${key}`, devicesByKey[i]!, stored.get(Number(key)))),
  ];
}

export const checkImport = (record: LoadRecord, rows: number, devices: number): CountCheck[] => [
  checkCount(`total_rows of import ${record.import_log_id}`, rows, record.total_rows),
  checkCount(`unique_devices of import ${record.import_log_id}`, devices, record.unique_devices),
];

/** An audience's counts as the API shows them. */
export function checkAudience(record: LoadRecord, rows: number, devices: number): CountCheck[] {
  const files = record.file as { rows_uploaded: number }[];
  const uploaded = files.reduce((sum, { rows_uploaded }) => sum + rows_uploaded, 0);
  return [
    checkCount(`uploaded_devices of audience ${record.audience_id}`, rows, record.uploaded_devices),
    checkCount(`rows_uploaded of audience ${record.audience_id}`, rows, uploaded),
    checkCount(`unique_devices of audience ${record.audience_id}`, devices, record.unique_devices),
  ];
}

/** An audience's counts by event, as its report shows them. */
export function checkReport(
  report: LoadRecord,
  events: readonly string[],
  { devices, devicesByKey }: GeneratedCounts,
): CountCheck[] {
  const rows = report.events as { event: string; devices: number }[];
  const found = new Map(rows.map((row) => [row.event, row.devices]));
  return [
    checkCount('unique_devices of the report', devices, report.unique_devices),
    ...events.map((event, i) => checkCount(`devices of ${event}`, devicesByKey[i]!, found.get(event))),
  ];
}
