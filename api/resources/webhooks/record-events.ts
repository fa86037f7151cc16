/**
 * Records the ends of jobs as deliveries to the webhooks of their partners. Jobs end in the order of their numbers, so a number says
 * up to which job this is done: nothing has to be written when a job ends, and partners without webhooks cost nothing. A job is
 * passed only when its deliveries are stored, and storing a delivery twice has no effect: wherever a process dies, no end is lost and
 * none is delivered twice. Deferred jobs are passed before they have ended; their ends are found by a query of their own, and each is
 * marked once it is recorded.
 *
 * Registering a webhook raises the version of that number, so a process that has not seen the webhook cannot pass a job.
 */
import { faultPoint } from '../../../pipeline/runtime/fault-points.ts';
import type { NewDelivery } from '../../../pipeline/stores/deliveries.ts';
import type { WebhookDocument } from '../../../schemas/webhook-documents.ts';
import type { ApiStores } from '../../stores/api-stores.ts';
import { renderEnd, type ShownEnded, shownOfEnded } from './render-event.ts';

export type RecordDependencies = Pick<ApiStores, 'counters' | 'deliveries' | 'jobs' | 'webhooks'>;

const AT_ONCE = 1_000;

/** `deferred`: they have ended just now, whatever their number. */
const eventsOf = (
  ended: ShownEnded[],
  webhooks: WebhookDocument[],
  { deferred = false } = {},
): Omit<NewDelivery, '_id'>[] =>
  ended.flatMap((job) => {
    const told = webhooks.filter(
      ({ partner, since }) => partner === job.partner && (deferred || since <= job._id),
    );
    if (told.length === 0) return [];
    const event = renderEnd(job);
    return told.map(({ _id }) => ({ ...event, webhook: _id, job: job._id }));
  });

export function createRecordEvents({ counters, deliveries, jobs, webhooks }: RecordDependencies) {
  /** Jobs that have ended and are not passed yet, up to a limit. */
  const readEnded = () =>
    webhooks.inSession(async (session) => {
      const { job, version } = await counters.recordedUpTo(session);
      const active = await webhooks.active(session);
      if (active.length === 0) return undefined;
      const first = active.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY);
      const after = Math.max(job, first - 1);
      const last = (await jobs.firstInOrder(session)) - 1;
      const upTo = Math.min(last, after + AT_ONCE);
      if (upTo <= after) return undefined;
      const partners = [...new Set(active.map(({ partner }) => partner))];
      const ended = await jobs.endedBetween({ after, upTo }, partners, shownOfEnded, session);
      return { events: eventsOf(ended, active), version, upTo, isLast: upTo === last };
    });

  async function store(events: Omit<NewDelivery, '_id'>[]): Promise<void> {
    if (events.length === 0) return;
    faultPoint('webhooks:before-record');
    const first = await counters.take('deliveries', events.length);
    await deliveries.insert(events.map((event, i) => ({ ...event, _id: first + i })));
    faultPoint('webhooks:after-record');
  }

  /** Ends of deferred jobs, up to a limit. Without webhooks, too: one that is added later gets none of them. */
  async function recordDeferred(): Promise<void> {
    const { ended, active, version } = await webhooks.inSession(async (session) => ({
      version: (await counters.recordedUpTo(session)).version,
      active: await webhooks.active(session),
      ended: await jobs.deferredEnds(shownOfEnded, { limit: AT_ONCE, session }),
    }));
    if (ended.length === 0) return;
    await store(eventsOf(ended, active, { deferred: true }));
    // Otherwise it is tried again with the webhooks of then.
    if ((await counters.recordedUpTo()).version === version)
      await jobs.deferredEndsRecorded(ended.map(({ _id }) => _id));
  }

  /** Until all ends are recorded. */
  return async (signal: AbortSignal): Promise<void> => {
    await recordDeferred();
    while (!signal.aborted) {
      const read = await readEnded();
      if (!read) return;
      // The process that registered the first webhook died before it said so.
      if (read.version === 0) await counters.webhooksChanged();
      await store(read.events);
      const isPassed = await counters.moveRecorded(read.version, read.upTo);
      faultPoint('webhooks:after-pass');
      if (isPassed && read.isLast) return;
    }
  };
}
