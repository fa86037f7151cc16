/** A prefix of many small files, compared with bare GETs of the same objects; and the same files behind one large file. */

import { createGenerator, type Generator } from '../../../deploy/cli/load/generate.ts';
import type { Bench } from '../bench-stack.ts';
import { checkImport } from '../check-counts.ts';
import { count, seconds } from '../format.ts';
import { inParallel } from '../in-parallel.ts';
import { atLeast, atMost, type Benchmark } from '../table.ts';
import { createUploader, fileName, uploadFile } from '../upload.ts';
import { pipelinePeakMb, watchRun } from '../watch-run.ts';

const ROWS = 10;
const ATTRIBUTES = 20;
const IN_FLIGHT = 16;
/** Enough GETs to determine the rate. */
const MAX_BARE_GETS = 20_000;
/** First in the listing. */
const LARGE_FILE = 'many/large.csv';
const pathOf = (number: number) => `many/${fileName(number, false)}`;

/** Uploads to the folder `many/`. */
export async function uploadManyFiles(
  { stack, progress, signal }: Bench,
  generator: Generator,
  files: number,
): Promise<void> {
  const uploader = createUploader(stack.partner);
  await inParallel(files, IN_FLIGHT, async (number) => {
    signal.throwIfAborted();
    await uploader.put(pathOf(number), generator.nextFile({ rows: ROWS }).bytes);
    progress.live(`uploaded ${number} of ${files} files`);
  });
  uploader.close();
  progress.step(`uploaded ${files} files`);
}

async function bareGetsPerSecond({ stack, progress }: Bench, files: number): Promise<number> {
  const uploader = createUploader(stack.partner);
  const gets = Math.min(files, MAX_BARE_GETS);
  const since = performance.now();
  await inParallel(gets, IN_FLIGHT, async (number) => {
    await uploader.get(pathOf(Math.floor((number * files) / gets)));
  });
  const rate = gets / ((performance.now() - since) / 1_000);
  uploader.close();
  progress.step(`${count(rate)} bare GETs/s`);
  return rate;
}

async function measure(bench: Bench, files: number, largeRows: number, seed: number) {
  const { stack, signal } = bench;
  const keys = (await stack.attributes(ATTRIBUTES)).map(String);
  const generator = createGenerator({ seed, duplicates: 0, keys });
  const wait = { everyMs: 100, signal };
  await uploadManyFiles(bench, generator, files);
  const bare = await bareGetsPerSecond(bench, files);
  const { result: small, use } = await watchRun(
    bench,
    () => stack.calls.load('a', 'many/', false, wait),
    (rows, after) => `${after.toFixed(1)} s: ${count(rows / ROWS)} of ${count(files)} files read`,
  );
  const checks = checkImport(small.record, files * ROWS, files * ROWS);

  await uploadFile(stack.partner, LARGE_FILE, generator.nextFile({ rows: largeRows }).bytes);
  const large = await stack.calls.load('a', LARGE_FILE, false, wait);
  checks.push(...checkImport(large.record, largeRows, largeRows));
  const both = await stack.calls.load('a', 'many/', false, wait);
  const { rows, devices } = generator.counts();
  checks.push(...checkImport(both.record, rows, devices));
  return {
    bare,
    filesPerSecond: files / small.seconds,
    peakMb: pipelinePeakMb(use),
    apart: small.seconds + large.seconds,
    together: both.seconds,
    checks,
  };
}

export const files: Benchmark = {
  name: 'files',
  async measure({ runOn, sized, seed }) {
    const result = await runOn('files', (bench) => measure(bench, sized(100_000), sized(3_000_000), seed));
    const { bare, filesPerSecond, peakMb, apart, together, checks } = result;
    const rate = {
      what: '100,000 files of 10 rows in one prefix: bare GETs; the load',
      small: `${count(bare)} GETs/s`,
      full: `${count(filesPerSecond)} files/s`,
    };
    const memory = {
      what: 'the same, peak memory of the pipeline',
      small: '',
      full: `${peakMb.toFixed(0)} MB`,
    };
    const behind = {
      what: 'the same and a file of 3 M rows: the sum of both alone; behind it in one prefix',
      small: seconds(apart),
      full: seconds(together),
    };
    return {
      rows: [
        atLeast(rate, filesPerSecond / bare, 0.5),
        atMost(memory, peakMb, 700, 'MB'),
        atMost(behind, together / apart, 1.2),
      ],
      checks,
      details: result,
    };
  },
};
