/** The end of a job as the event that receivers get: the record is the one that the REST call answers. */

import type { WebhookEventType } from '../../../schemas/http-webhooks.ts';
import type { JobDocument, JobKind } from '../../../schemas/job-documents.ts';
import { shownOfLoad, toLoad } from '../audiences/load-records.ts';
import { shown, toImportLog } from '../imports/import-records.ts';

export const shownOfEnded = { ...shown, ...shownOfLoad, partner: 1, audience: 1, endNumber: 1 } as const;
type Ended = Pick<JobDocument, '_id' | keyof typeof shownOfEnded>;
/** Privacy requests are nobody's business but that of who made them. */
export type ShownEnded = Ended & { kind: keyof typeof typeOf };
export const isShown = (job: Ended): job is ShownEnded => job.kind !== 'privacy';

const typeOf: Record<Exclude<JobKind, 'privacy'>, WebhookEventType> = {
  import: 'import.ended',
  delete: 'deletion.ended',
  audience: 'load.ended',
};

/** An ended load shows the same whatever became of its audience since. */
const recordOf = (job: ShownEnded) =>
  job.kind === 'audience'
    ? { audience_id: job.audience, ...toLoad(job, { generation: job.generation! }) }
    : toImportLog(job);

export function renderEnd(job: ShownEnded): { type: WebhookEventType; body: string } {
  const type = typeOf[job.kind];
  return { type, body: JSON.stringify({ type, timestamp: job.updatedAt, data: recordOf(job) }) };
}

export function renderTest(webhook: number, at: Date): { type: WebhookEventType; body: string } {
  const type = 'webhook.test';
  return { type, body: JSON.stringify({ type, timestamp: at, data: { webhook_id: webhook } }) };
}
