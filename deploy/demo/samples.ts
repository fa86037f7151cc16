/** Sample files: the same at every start, so that the expected counts are known. */
import { createHash } from 'node:crypto';

export interface Sample {
  readonly path: string;
  readonly text: string;
  readonly rows: number;
  readonly devices: number;
}

function deviceId(number: number): string {
  const hex = createHash('md5').update(`headrace demo ${number}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function sample(
  path: string,
  header: string,
  rows: number,
  devices: number,
  value: (row: number) => string,
): Sample {
  const lines = Array.from({ length: rows }, (_, row) => `${deviceId(row % devices)},${value(row)}`);
  return { path, text: `${[header, ...lines].join('\n')}\n`, rows, devices };
}

/** The partner_foreign_keys of the demo's attributes. */
export const foreignKeys = ['coffee', 'travel'] as const;

export const marketplaceSample = sample(
  'demo/attributes.csv',
  'device_id,key',
  20_000,
  16_000,
  (row) => foreignKeys[row % foreignKeys.length]!,
);
/** All of its devices are also in the marketplace sample, so `matched_devices` equals their number. */
export const audienceSample = sample('demo/visitors.csv', 'device_id,event', 5_000, 5_000, (row) =>
  row % 3 === 0 ? 'purchase' : 'visit',
);
