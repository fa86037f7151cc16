/** `headrace topics`: what the brokers hold, and the lag of the stages. */
import { expect } from 'vitest';
import { withService } from '../support/fixture.ts';
import { file, ids } from '../support/rows.ts';
import { runHere } from '../support/run-here.ts';
import { waitFor } from '../support/wait-for.ts';

/** Without validate: nothing reads what split sends. Nothing is dispatched again within the test. */
const test = withService({
  parts: ['pipeline'],
  stages: ['dispatch', 'split', 'sink'],
  env: { HEADRACE_TEST_STALL_MS: '3600000' },
});

interface Topic {
  topic: string;
  purpose: string;
  key: string;
  schemas: { type: string; version: number; id: number }[];
  partitions: number;
  cleanup: string;
  retention_ms: number;
  messages: number;
  bytes: number;
  lag: { stage: string; messages: number; seconds: number } | null;
}

test('every topic with its contents, and the lag of its stage in messages and in seconds', async ({
  service,
  driver,
}) => {
  const { env, config } = service;
  const partner = await driver.partner();
  await driver.upload(partner, 'a.csv', file(ids(1_000), await driver.attribute(partner)));
  await driver.import(partner, 'a.csv');

  const list = async () => {
    const { code, stdout, stderr } = await runHere(['topics', '--json'], env);
    expect(code, stderr).toBe(0);
    return new Map((JSON.parse(stdout) as Topic[]).map((topic) => [topic.topic.split('.').pop()!, topic]));
  };
  const topics = await waitFor(
    async () => {
      const listed = await list();
      const { messages, bytes } = listed.get('rows')!;
      // Sizes and offsets are read concurrently.
      const isSplit = messages === 1 && bytes > 1_000 * 37 && listed.get('files')!.lag!.messages === 0;
      return isSplit ? listed : undefined;
    },
    { what: 'the rows to wait for validate', everyMs: 500 },
  );
  expect([...topics.keys()]).toEqual([
    'jobs',
    'files',
    'rows',
    'devices',
    'rejects',
    'status',
    'dead-letters',
  ]);
  const rows = topics.get('rows')!;
  expect(rows).toMatchObject({
    topic: `${config.topicPrefix}.rows`,
    purpose: expect.stringMatching(/\w/),
    key: 'job.file.batch',
    schemas: [{ type: 'RowBatch', version: 1, id: 3 }],
    partitions: config.partitions,
    cleanup: 'delete',
    retention_ms: config.retentionHours * 3_600_000,
    lag: { stage: 'validate', messages: 1 },
  });
  await waitFor(async () => (await list()).get('rows')!.lag!.seconds > rows.lag!.seconds, {
    what: 'the lag to grow',
    everyMs: 500,
  });
  expect(topics.get('status')).toMatchObject({ cleanup: 'compact,delete', lag: null });
  // The job is in flight, so its message's offset is not committed.
  expect(topics.get('jobs')!.lag).toMatchObject({ stage: 'dispatch', messages: 1 });

  const { stdout } = await runHere(['topics'], env);
  const line = stdout.split('\n').find((one) => one.startsWith(`${config.topicPrefix}.rows `))!;
  expect(line).toMatch(/ 3 days +validate: 1 message, .* job\.file\.batch +RowBatch \(1\) /);
});
