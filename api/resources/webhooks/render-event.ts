/** Renders the end of a job as an event, with the record that a GET returns. */

import type { WebhookEventType } from '../../../schemas/http-webhooks.ts';
import type { JobDocument, JobKind } from '../../../schemas/job-documents.ts';
import { shownOfLoad, toLoad } from '../audiences/load-records.ts';
import { shown, toImportLog } from '../imports/import-records.ts';

export const shownOfEnded = { ...shown, ...shownOfLoad, partner: 1, audience: 1, endNumber: 1 } as const;
type Ended = Pick<JobDocument, '_id' | keyof typeof shownOfEnded>;
/** Without privacy requests, which are shown only to the partner or operator that made them. */
export type ShownEnded = Ended & { kind: keyof typeof typeOf };
export const isShown = (job: Ended): job is ShownEnded => job.kind !== 'privacy';

const typeOf: Record<Exclude<JobKind, 'privacy'>, WebhookEventType> = {
  import: 'import.ended',
  delete: 'deletion.ended',
  audience: 'load.ended',
};

/** The record of an ended load does not depend on later changes of its audience. */
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
