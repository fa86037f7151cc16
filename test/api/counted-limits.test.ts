/** Limits per partner are counted atomically: of many concurrent requests, exactly as many pass as the limit allows. */
import { expect, it } from 'vitest';
import { createDryRunStore, type TakenDryRun } from '../../pipeline/stores/dry-runs.ts';
import { collections } from '../../schemas/documents.ts';
import type { DryRunDocument } from '../../schemas/dry-run-documents.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import { AUDIENCE, type Reply } from './support.ts';
import { useApi } from './use-api.ts';

const api = useApi();

const concurrently = (count: number, send: (i: number) => Promise<Reply>) =>
  Promise.all(Array.from({ length: count }, (_, i) => send(i)));
const statusesOf = (replies: Reply[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

it('of 60 concurrent dry runs, 10 are queued; one that ends makes room for one', async () => {
  const { call } = await api.partner();
  const body = { name: 'n', file_path: 'a.csv' };
  const post = () => call('POST', `${AUDIENCE}?dry_run=true`, { body });
  const replies = await concurrently(60, post);
  expect(statusesOf(replies)).toEqual({ 202: 10, 429: 50 });
  const refused = replies.find(({ status }) => status === 429)!;
  expect([refused.json.code, refused.headers.get('retry-after')]).toEqual(['too_many_pending', '5']);

  const ended = replies.find(({ status }) => status === 202)!.json.dry_run_id as number;
  const dryRuns = api.db.collection<DryRunDocument>(collections.dryRuns);
  const taken = (await dryRuns.findOneAndUpdate(
    { _id: ended },
    { $set: { runner: 'test' } },
    { returnDocument: 'after' },
  )) as TakenDryRun;
  await createDryRunStore(api.db).end(taken, JobStatus.done);
  expect(statusesOf(await concurrently(3, post))).toEqual({ 202: 1, 429: 2 });
});

it('of 20 concurrent webhooks, 10 are registered; one that is removed makes room for one', async () => {
  const { call } = await api.partner();
  const post = (i: number) => call('POST', '/v1/webhooks', { body: { url: `https://hooks.example/${i}` } });
  const replies = await concurrently(20, post);
  expect(statusesOf(replies)).toEqual({ 201: 10, 429: 10 });
  expect(replies.find(({ status }) => status === 429)!.json.code).toBe('too_many_webhooks');
  const { webhook_id } = replies.find(({ status }) => status === 201)!.json;
  expect((await call('DELETE', `/v1/webhooks/${webhook_id}`)).status).toBe(204);
  expect(statusesOf(await concurrently(3, (i) => post(100 + i)))).toEqual({ 201: 1, 429: 2 });
});
