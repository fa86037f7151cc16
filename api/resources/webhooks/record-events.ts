/**
 * Records ended jobs as deliveries to their partners' webhooks. Job ends are numbered, so a single watermark tracks the progress: ending
 * a job needs no extra write, and partners without webhooks cost nothing. The watermark advances only after the deliveries are stored,
 * and storing a delivery is idempotent, so a crash neither loses nor repeats an event.
 *
 * Registering a webhook raises the watermark's version, so a process that has not seen the webhook cannot move it.
 */

import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import { faultPoint } from '../../jobs/fault-points.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import type { NewDelivery } from '../../stores/deliveries.ts';
import { isShown, renderEnd, type ShownEnded, shownOfEnded } from './render-event.ts';

export type RecordDependencies = Pick<ApiStores, 'counters' | 'deliveries' | 'jobs' | 'webhooks'>;

const AT_ONCE = 1_000;

const eventsOf = (ended: ShownEnded[], webhooks: WebhookDocument[]): Omit<NewDelivery, '_id'>[] =>
  ended.flatMap((job) => {
    const told = webhooks.filter(({ partner, since }) => partner === job.partner && since <= job.endNumber!);
    if (told.length === 0) return [];
    const event = renderEnd(job);
    return told.map(({ _id }) => ({ ...event, webhook: _id, job: job._id }));
  });

export function createRecordEvents({ counters, deliveries, jobs, webhooks }: RecordDependencies) {
  /** Ended jobs beyond the watermark, up to a limit. */
  const readEnded = () =>
    webhooks.inSession(async (session) => {
      const { end, version } = await counters.recordedUpTo(session);
      const active = await webhooks.active(session);
      if (active.length === 0) return undefined;
      const first = active.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY);
      const after = Math.max(end, first - 1);
      const last = await counters.countEnds(session);
      const upTo = Math.min(last, after + AT_ONCE);
      if (upTo <= after) return undefined;
      const partners = [...new Set(active.map(({ partner }) => partner))];
      const ended = await jobs.endedBetween({ after, upTo }, partners, shownOfEnded, session);
      return { events: eventsOf(ended.filter(isShown), active), version, upTo, isLast: upTo === last };
    });

  async function store(events: Omit<NewDelivery, '_id'>[]): Promise<void> {
    if (events.length === 0) return;
    faultPoint('webhooks:before-record');
    const first = await counters.take('deliveries', events.length);
    await deliveries.insert(events.map((event, i) => ({ ...event, _id: first + i })));
    faultPoint('webhooks:after-record');
  }

  /** Resolves when all ends are recorded. */
  return async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const read = await readEnded();
      if (!read) return;
      // The process that registered the first webhook died before raising the version.
      if (read.version === 0) await counters.webhooksChanged();
      await store(read.events);
      const isPassed = await counters.moveRecorded(read.version, read.upTo);
      faultPoint('webhooks:after-pass');
      if (isPassed && read.isLast) return;
    }
  };
}
