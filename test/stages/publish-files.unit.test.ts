/** A window may have room for very many small files: they are read and published in portions. */
import { expect, it } from 'vitest';
import type { OutgoingMessage } from '../../pipeline/kafka/publish.ts';
import { createLoadingJob } from '../../pipeline/stages/dispatch/load/loading-job.ts';
import {
  createPublishFiles,
  type PublishDependencies,
} from '../../pipeline/stages/dispatch/load/publish-files.ts';
import { noBatches } from '../../pipeline/stages/dispatch/load/tally-files.ts';
import type { FileDocument } from '../../schemas/job-documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const MAX_AT_ONCE = 5_000;
const small = { path: 'a.csv', etag: 'e', size: 1, compressed: false, batchBytes: 700_000 };
const numbersTo = (end: number, step = 1) => Array.from({ length: end / step }, (_, i) => i * step);

/** `undecided`: every n-th file is undecided. */
function setUp({ fileCount, undecided = 1 }: { fileCount: number; undecided?: number }) {
  const { log, step } = recordingEnvironment('dispatch');
  const published: number[] = [];
  let maxRead = 0;
  const deps = {
    log,
    publisher: {
      async send(_: string, messages: OutgoingMessage[]) {
        for (const { key } of messages) published.push(Number(key.slice('7.'.length)));
      },
    },
    files: {
      async undecided(_: string, __: number, from: number, limit: number) {
        maxRead = Math.max(maxRead, limit);
        const numbers = numbersTo(Math.min(fileCount, from + limit), undecided);
        return numbers
          .filter((number) => number >= from)
          .map((number) => ({ ...small, job: 7, number, status: 1 }) as FileDocument);
      },
    },
    fileWindow: 10_000,
    filePartitions: 4,
    stallMs: 0,
  } as unknown as PublishDependencies;
  const entry = createLoadingJob(aJob({ listing: '7-l', fileCount }), {
    first: null,
    before: { files: 0, rows: 0, bytes: 0, grown: 0 },
    patienceMs: 0,
    resolve() {},
    reject() {},
  });
  return { ...createPublishFiles(deps, step), entry, published, maxRead: () => maxRead };
}

it('all files that have room are published', async () => {
  const fileCount = 2 * MAX_AT_ONCE + 100;
  const { publishMore, entry, published, maxRead } = setUp({ fileCount });
  await publishMore(entry);
  expect(entry).toMatchObject({ nextFile: fileCount, inFlight: { size: fileCount } });
  expect(published).toEqual(numbersTo(fileCount));
  expect(maxRead()).toBe(MAX_AT_ONCE);
});

it('of 150,000 files without progress, all that are undecided are published again', async () => {
  const fileCount = 150_000;
  const { publishStalled, entry, published, maxRead } = setUp({ fileCount, undecided: 1_000 });
  for (const number of numbersTo(fileCount)) entry.inFlight.set(number, { ...small, tally: noBatches() });
  await publishStalled(entry);
  expect(published).toEqual(numbersTo(fileCount, 1_000));
  expect(maxRead()).toBe(MAX_AT_ONCE);
});
