/** What it costs to add a little to a lot: 10,000 rows to a large audience, against a new audience of 10,000. */
import type { Bench } from '../bench-stack.ts';
import { type CountCheck, checkAudience, checkAudienceSets } from '../check-counts.ts';
import { createGenerator } from '../generate.ts';
import { median } from '../percentiles.ts';
import { createUploader, fileName, uploadPrefix } from '../upload.ts';
import { type RunUse, watchRun } from '../watch-run.ts';
import { keysOf } from './one-prefix.ts';

const ROUNDS = 5;
const pollEveryMs = 20;

export interface AppendOptions {
  /** Devices of the large audience. */
  readonly devices: number;
  readonly appended: number;
  readonly files: number;
  readonly events: number;
  readonly seed: number;
}

export interface AppendResult {
  readonly options: AppendOptions;
  readonly createdSeconds: number[];
  readonly appendedSeconds: number[];
  /** Of the medians. */
  readonly ratio: number;
  readonly checks: CountCheck[];
  readonly use: RunUse;
}

export async function measureAppend(bench: Bench, options: AppendOptions): Promise<AppendResult> {
  const { stack, signal, progress } = bench;
  const { devices, appended, files, events, seed } = options;
  const keys = await keysOf(bench, 'b', events);
  // Without duplicates, a file's rows are devices that are nowhere else.
  const large = createGenerator({ seed, duplicates: 0, keys });
  await uploadPrefix(bench, large, { prefix: 'large/', rows: devices, files, gzip: false });
  const wait = { everyMs: pollEveryMs, signal };
  const created = await stack.calls.load('b', 'large/', false, wait);
  progress.step(`an audience of ${devices} devices after ${created.seconds.toFixed(2)} s`);
  const checks = checkAudience(created.record, devices, devices);

  const uploader = createUploader(bench);
  const putNext = async (path: string, generator: typeof large) => {
    await uploader.put(path, generator.nextFile({ rows: appended }).bytes);
    return path;
  };
  const createdSeconds: number[] = [];
  const appendedSeconds: number[] = [];
  const { use } = await watchRun(bench, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const own = createGenerator({ seed: seed + 1 + round, duplicates: 0, keys });
      const small = await stack.calls.load(
        'b',
        await putNext(`small/${round}/${fileName(0, false)}`, own),
        false,
        wait,
      );
      createdSeconds.push(small.seconds);
      checks.push(...checkAudience(small.record, appended, appended));

      const path = await putNext(`more/${round}/${fileName(0, false)}`, large);
      const more = await stack.calls.append(created.id, path, wait);
      appendedSeconds.push(more.seconds);
      const { rows } = large.counts();
      checks.push(...checkAudience(more.record, rows, rows));
      progress.live(`${round + 1} of ${ROUNDS} rounds`);
    }
  });
  uploader.close();
  checks.push(...(await checkAudienceSets(stack.db, created.id, keys, large.counts())));
  const ratio = median(appendedSeconds) / median(createdSeconds);
  return { options, createdSeconds, appendedSeconds, ratio, checks, use };
}
