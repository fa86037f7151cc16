/** Checks the shared bucket: listing and reading with the service's keys, and the storage's clock. */

import { type BucketAccess, openBucket, settingOf } from '../../../../pipeline/sources/bucket-probe.ts';
import { readObject } from '../../../../pipeline/sources/read-object.ts';
import type { StoreFailure } from '../../../../pipeline/sources/store-errors.ts';
import type { Config } from '../../../../schemas/config.ts';
import { about, clockFinding, examine, type Finding } from './findings.ts';

const storage = about('storage');
const storageClock = about('storage clock');

const KEYS = 'check the keys of the service and their permissions';
const ADDRESS = 'check HEADRACE_S3_ENDPOINT, and that it can be reached from this machine';
/** The header has whole seconds. */
const DATE_PRECISION_MS = 1_000;
const MAX_SHOWN = 200;

async function checkBucket({ bucket, listFirst, client }: BucketAccess): Promise<Finding[]> {
  try {
    const [first] = await listFirst();
    if (!first) return [storage.ok(`${bucket} can be listed; it is empty`)];
    const { key, etag, size } = first;
    // No retry: report at once what the storage refuses.
    const again = (error: unknown) => Promise.reject(error);
    const once = { wait: () => ({ received() {}, progress() {}, again }) };
    for await (const _ of readObject(client, once, bucket, key, { etag, size })) break;
    return [storage.ok(`${bucket} can be listed and read`)];
  } catch (error) {
    const { code, message } = error as StoreFailure;
    return [storage.problem(`${bucket}: ${message}`, `check ${settingOf(code)}`)];
  }
}

async function checkClock({ s3Endpoint, s3Region }: Config): Promise<Finding[]> {
  const before = Date.now();
  const url = s3Endpoint || `https://s3.${s3Region}.amazonaws.com`;
  const response = await fetch(url, {
    method: 'HEAD',
    redirect: 'manual',
    signal: AbortSignal.timeout(5_000),
  });
  const after = Date.now();
  const date = response.headers.get('date');
  if (date === null) return [];
  const theirs = Date.parse(date);
  if (Number.isNaN(theirs))
    return [
      storageClock.warning(
        `its Date header is not a date and is ignored: ${date.slice(0, MAX_SHOWN)}`,
        'check whether a proxy in between adds a second one',
      ),
    ];
  return [clockFinding('storage clock', { before, after, theirs, precisionMs: DATE_PRECISION_MS })];
}

export async function checkStorage(config: Config): Promise<Finding[]> {
  const access = openBucket(config);
  try {
    const found = await examine('storage', KEYS, () => checkBucket(access));
    return [...found, ...(await examine('storage clock', ADDRESS, () => checkClock(config)))];
  } finally {
    access.client.close();
  }
}
