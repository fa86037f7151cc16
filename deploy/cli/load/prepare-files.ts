/**
 * Generates the files of all jobs and uploads them with the partner's storage keys. A file exists only while it is being sent, so
 * memory is bounded by the uploads in flight.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { inParallel } from '../../../pipeline/runtime/in-parallel.ts';
import { type StoragePlace, storageProblem } from '../partner/storage.ts';
import { createGenerator, type Generator } from './generate.ts';
import { mix } from './identifiers.ts';
import type { PreparedPrefix } from './jobs.ts';
import type { InvalidKind } from './layouts.ts';
import type { LoadPlan } from './options.ts';

const compress = promisify(gzip);
const ROW_BYTES = 48;
const MAX_BYTES_IN_FLIGHT = 256 * 1024 * 1024;

interface PrepareOptions {
  keys: readonly string[];
  invalid: readonly InvalidKind[];
  signal: AbortSignal;
  /** Called with the bytes of each file that has arrived. */
  onFile(bytes: number): void;
}

const numbered = (word: string, number: number) => `${word}-${String(number).padStart(6, '0')}`;

export const prefixOf = (plan: LoadPlan, job: number): string => `${plan.prefix}${numbered('job', job + 1)}/`;

function generatorOf(
  plan: LoadPlan,
  job: number,
  { keys, invalid }: Pick<PrepareOptions, 'keys' | 'invalid'>,
): Generator {
  return createGenerator({
    seed: mix(plan.seed + mix(job)),
    duplicates: plan.duplicates,
    keys,
    invalid: { share: plan.invalid, rows: invalid.map(({ row }) => row) },
  });
}

function expectedOf(generator: Generator, { files }: LoadPlan, invalid: readonly InvalidKind[]) {
  const counts = generator.counts();
  const rejected = invalid.map(({ code }, kind) => [code, counts.invalid[kind]!] as const);
  return {
    files,
    rows: counts.rows,
    devices: counts.devices,
    rejected: Object.fromEntries(rejected.filter(([, rows]) => rows > 0)),
  };
}

export async function prepareFiles(
  { s3, bucket, prefix }: StoragePlace & { s3: S3Client },
  plan: LoadPlan,
  { keys, invalid, signal, onFile }: PrepareOptions,
): Promise<PreparedPrefix[]> {
  const atOnce = Math.max(1, Math.min(plan.parallel, MAX_BYTES_IN_FLIGHT / (plan.rows * ROW_BYTES)));
  const prepared: PreparedPrefix[] = [];

  /** A started upload is not interrupted: it could complete and would never be deleted. */
  async function upload(path: string, bytes: Buffer): Promise<void> {
    // gzip's default level, as partners use it.
    const Body = plan.gzip ? await compress(bytes, { level: 6 }) : bytes;
    try {
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key: prefix + path, Body }));
    } catch (error) {
      throw storageProblem(error, `${path} was not uploaded`);
    }
    onFile(Body.length);
  }

  let generator: Generator;
  await inParallel(new Array<undefined>(plan.jobs * plan.files), Math.floor(atOnce), async (_, index) => {
    signal.throwIfAborted();
    const job = Math.floor(index / plan.files);
    const file = index % plan.files;
    const path = prefixOf(plan, job);
    // Before the first await, so that files are generated in order.
    if (file === 0) generator = generatorOf(plan, job, { keys, invalid });
    const { bytes } = generator.nextFile({ rows: plan.rows });
    if (file === plan.files - 1) prepared.push({ path, expected: expectedOf(generator, plan, invalid) });
    await upload(`${path}${numbered('part', file + 1)}.csv${plan.gzip ? '.gz' : ''}`, bytes);
  });
  return prepared;
}
