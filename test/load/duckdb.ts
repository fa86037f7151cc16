/**
 * The strongest alternative on one machine: DuckDB reads the same files from disk and inserts new devices into a table with a
 * primary key, in a database file. It pays for no queue and no order of jobs.
 *
 * Runs in its own process, so that its memory is not the benchmark's: `node --import tsx duckdb.ts <folder>`.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createGenerator, type GeneratorOptions } from '../../deploy/cli/load/generate.ts';
import { fileName, spread } from './upload.ts';

const THREADS = 2;
const self = fileURLToPath(import.meta.url);

export interface DuckDbLoad {
  readonly devices: number;
  readonly seconds: number;
}

async function insertAll(folder: string): Promise<DuckDbLoad> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(join(folder, 'devices.duckdb'), { threads: String(THREADS) });
  const connection = await instance.connect();
  // headrace keeps (device, event) pairs; such a key would be slower here. No device in the files has two events.
  await connection.run('create table devices (device uuid primary key, event varchar)');
  const files = join(folder, '*.csv');
  const since = performance.now();
  await connection.run(
    `insert or ignore into devices
     from read_csv('${files}', header = false, columns = {device: 'uuid', event: 'varchar'})`,
  );
  const seconds = (performance.now() - since) / 1_000;
  const counted = await connection.runAndReadAll('select count(*)::double from devices');
  connection.closeSync();
  instance.closeSync();
  return { devices: counted.getRows()[0]![0] as number, seconds };
}

export async function measureDuckDb(
  generated: GeneratorOptions,
  { rows, files }: { rows: number; files: number },
  signal: AbortSignal,
): Promise<DuckDbLoad> {
  const folder = mkdtempSync(join(tmpdir(), 'headrace-duckdb-'));
  try {
    const generator = createGenerator(generated);
    for (const [number, some] of spread(rows, files).entries())
      writeFileSync(join(folder, fileName(number, false)), generator.nextFile({ rows: some }).bytes);
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', self, folder], {
      signal,
    });
    return JSON.parse(stdout) as DuckDbLoad;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === self) process.stdout.write(JSON.stringify(await insertAll(process.argv[2]!)));
