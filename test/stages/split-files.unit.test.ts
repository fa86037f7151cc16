/** What split does with a file, step by step. */
import { expect, it } from 'vitest';
import { StoreFailure } from '../../pipeline/sources/store-errors.ts';
import { createSplitFiles, type SplitDependencies } from '../../pipeline/stages/split-files.ts';
import type { ListedFile, RowBatch } from '../../schemas/topics.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';
import { file, ids } from '../support/rows.ts';

const LINES = 30;
const listed: ListedFile = {
  job: 7,
  file: 0,
  partner: 'p1',
  layout: 'audience',
  path: 'a.csv',
  etag: 'e',
  size: 1,
  compressed: false,
  batch_bytes: 400,
  attempt: 0,
};

type Resume = Awaited<ReturnType<SplitDependencies['ledger']['resumePoint']>>;

function setUp({
  resume = null,
  wanted = true,
  failsAfter,
}: {
  /** A single resume point, or one per attempt. */
  resume?: Resume | Resume[];
  wanted?: boolean;
  failsAfter?: number;
} = {}) {
  const resumes = Array.isArray(resume) ? resume : [resume];
  const environment = recordingEnvironment('split');
  const bytes = Buffer.from(file(ids(LINES), 'seen'));
  const opened: number[] = [];
  const stage = createSplitFiles({
    ...environment,
    contexts: { get: async () => ({ job: aJob({ phase: 'listed' }), wanted }) },
    ledger: { resumePoint: async () => (resumes.length > 1 ? resumes.shift() : resumes[0]) },
    files: { get: async () => null },
    sourceOf: async () => ({
      bucket: 'b',
      store: {
        async *open(_bucket: string, _key: string, { from }: { from: number }) {
          opened.push(from);
          yield bytes.subarray(from, failsAfter);
          if (failsAfter !== undefined) throw new StoreFailure('changed', 'it changed');
        },
      },
    }),
    lags: { positionsOf: async () => new Map() },
    handledOffsets: { subscribe() {} },
    rowsAheadBytes: 1_000_000,
    sessionTimeoutMs: 10_000,
    rowPartitions: 4,
    gzipRatio: 100,
    onRead() {},
  } as unknown as SplitDependencies);
  const run = () => stage.handle!(environment.deliver({ name: 'ListedFile', value: listed }));
  const batches = () => environment.sent.map(({ message }) => message.value as RowBatch);
  return { ...environment, run, batches, bytes, opened };
}

it('sends batch after batch, numbered without a gap, and the last one says so', async () => {
  const { run, batches, actions, bytes } = setUp();
  await run();
  expect(actions).toEqual(batches().map(() => 'send'));
  expect(batches().map(({ batch }) => batch)).toEqual(batches().map((_, number) => number));
  expect(batches().map(({ last }) => last)).toEqual(batches().map((_, n) => n === batches().length - 1));
  expect(Buffer.concat(batches().map(({ rows }) => Buffer.from(rows))).equals(bytes)).toBe(true);
});

it('goes on behind the batches that are validated: reads from there and sends the same cut', async () => {
  const whole = setUp();
  await whole.run();
  const [first] = whole.batches();
  const { end, lines, delimiter } = first!;
  const resume = { batch: 0, end, firstLine: first!.first_line, lines, delimiter };
  const again = setUp({ resume });
  await again.run();
  expect(again.opened).toEqual([end]);
  expect(again.batches().map(({ batch, start }) => [batch, start])).toEqual(
    whole
      .batches()
      .slice(1)
      .map(({ batch, start }) => [batch, start]),
  );
});

it('a storage that fails for good ends the file with a batch that says why', async () => {
  const { run, batches, actions } = setUp({ failsAfter: 900 });
  await run();
  expect(batches().at(-1)).toMatchObject({ failure: { code: 'changed' } });
  expect(actions.at(-1)).toBe('send');
});

it('it does so behind all batches, also those that another reader has sent meanwhile', async () => {
  const place = { end: 4_000, firstLine: 90, lines: 10, delimiter: 44 };
  const { run, batches } = setUp({ failsAfter: 900, resume: [null, { batch: 9, ...place }] });
  await run();
  expect(batches().at(-1)).toMatchObject({ batch: 10, start: 4_000, failure: { code: 'changed' } });
  const complete = setUp({ failsAfter: 900, resume: [null, 'complete'] });
  await complete.run();
  expect(complete.batches().some(({ failure }) => failure)).toBe(false);
});

it.each([
  ['nobody wants it', { wanted: false }],
  ['it is validated to its end', { resume: 'complete' as const }],
])('sends nothing when %s', async (_, given) => {
  const { run, actions, opened } = setUp(given);
  await run();
  expect({ actions, opened }).toEqual({ actions: [], opened: [] });
});
