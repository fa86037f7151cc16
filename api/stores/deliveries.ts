/**
 * Outbox of webhook deliveries. A sender takes deliveries under a lease; when the lease expires, they are due again. All times are the
 * database's, because the clocks of the processes may differ.
 */
import type { Db } from 'mongodb';
import { insertNew, removeInSteps } from '../../pipeline/stores/bulk.ts';
import { collections } from '../../schemas/documents.ts';
import type { DeliveryAttempt, DeliveryDocument, DeliveryStatus } from '../../schemas/webhook-documents.ts';

export type TakenDelivery = DeliveryDocument & { sender: string };
/** An event to be delivered to a webhook. */
export type NewDelivery = Pick<DeliveryDocument, '_id' | 'webhook' | 'job' | 'type' | 'body'>;
/** `retryMs`: undefined means no retry. */
export type Attempted = Omit<DeliveryAttempt, 'at'> & { isDelivered: boolean; retryMs?: number };

const MAX_ATTEMPTS_KEPT = 50;
const GIVE_UP_AT_ONCE = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const RETRY_HOURS = 24;
/** After the event, or after the last redelivery. */
export const KEPT_DAYS = 30;
const KEPT_MS = KEPT_DAYS * DAY_MS;
const RETRY_MS = RETRY_HOURS * HOUR_MS;
/** Senders make one last attempt at `giveUpAt`; only deliveries of disabled webhooks are still pending after this. */
const GRACE_MS = HOUR_MS / 6;

export function createDeliveryStore(db: Db) {
  const deliveries = db.collection<DeliveryDocument>(collections.deliveries);

  const now = async (): Promise<Date> => (await db.command({ hello: 1 })).localTime;

  return {
    now,

    /** Keeps the first record of an event. */
    async insert(events: NewDelivery[]): Promise<void> {
      if (events.length === 0) return;
      const createdAt = await now();
      const later = (ms: number) => new Date(createdAt.getTime() + ms);
      const times = {
        dueAt: createdAt,
        giveUpAt: later(RETRY_MS),
        expiresAt: later(KEPT_MS),
      };
      await insertNew(
        deliveries,
        events.map((event) => ({
          ...event,
          ...times,
          status: 'pending' as const,
          tries: 0,
          attempts: [],
          createdAt,
        })),
      );
    },

    find: (webhook: number, id: number) => deliveries.findOne({ _id: id, webhook }),

    /** Newest first, without bodies. */
    list: (
      webhook: number,
      {
        limit,
        before,
        status,
      }: { limit: number; before?: number | undefined; status?: DeliveryStatus | undefined },
    ): Promise<Omit<DeliveryDocument, 'body'>[]> =>
      deliveries
        .find({
          webhook,
          ...(status === undefined ? {} : { status }),
          ...(before === undefined ? {} : { _id: { $lt: before } }),
        })
        .sort({ _id: -1 })
        .limit(limit)
        .project<Omit<DeliveryDocument, 'body'>>({ body: 0 })
        .toArray(),

    /** Webhooks with pending deliveries. */
    pendingWebhooks: (): Promise<number[]> => deliveries.distinct('webhook', { status: 'pending' }),

    /** Leases the webhook's longest-due deliveries. `sender` must be unique to the call. */
    async take(
      webhook: number,
      { sender, at, leaseMs, limit }: { sender: string; at: Date; leaseMs: number; limit: number },
    ): Promise<TakenDelivery[]> {
      const isDue = { status: 'pending' as const, dueAt: { $lte: at } };
      const due = await deliveries
        .find({ ...isDue, webhook })
        .sort({ dueAt: 1, _id: 1 })
        .limit(limit)
        .project<{ _id: number }>({ _id: 1 })
        .toArray();
      if (due.length === 0) return [];
      const ids = due.map(({ _id }) => _id);
      // If two senders read the same delivery, the second no longer finds it due.
      await deliveries.updateMany({ ...isDue, _id: { $in: ids } }, [
        { $set: { sender, dueAt: { $add: ['$$NOW', leaseMs] } } },
      ]);
      const taken = await deliveries.find({ _id: { $in: ids }, sender }).toArray();
      return taken.sort((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id)) as TakenDelivery[];
    },

    /** Records an attempt and returns the delivery; null if another sender has taken it since. */
    finish: (
      { _id, sender }: TakenDelivery,
      { isDelivered, retryMs, ...attempt }: Attempted,
    ): Promise<DeliveryDocument | null> => {
      const late = { $gte: ['$$NOW', '$giveUpAt'] };
      const isOver = isDelivered || retryMs === undefined;
      const pendingOrFailed = { $cond: [late, 'failed', 'pending'] };
      const status = isDelivered ? 'delivered' : isOver ? 'failed' : pendingOrFailed;
      const kept = { at: '$$NOW', code: attempt.code, error: { $literal: attempt.error }, ms: attempt.ms };
      return deliveries.findOneAndUpdate(
        { _id, sender, status: 'pending' },
        [
          {
            $set: {
              status,
              tries: { $add: ['$tries', 1] },
              attempts: { $slice: [{ $concatArrays: ['$attempts', [kept]] }, -MAX_ATTEMPTS_KEPT] },
              // The last attempt is made at the deadline.
              dueAt: { $min: [{ $add: ['$$NOW', retryMs ?? 0] }, '$giveUpAt'] },
              endedAt: isOver ? '$$NOW' : { $cond: [late, '$$NOW', '$$REMOVE'] },
              sender: '$$REMOVE',
            },
          },
        ],
        { returnDocument: 'after' },
      );
    },

    /** Ends the lease after an interrupted attempt: the delivery is due now. */
    release: ({ _id, sender }: TakenDelivery) =>
      deliveries.updateOne({ _id, sender }, [{ $set: { dueAt: '$$NOW', sender: '$$REMOVE' } }]),

    /** Makes it due again with a full retry period, once per request. No effect while it is being sent. */
    async sendAgain(webhook: number, id: number, request: string): Promise<boolean> {
      const isNew = { sender: { $exists: false }, resentBy: { $ne: request } };
      await deliveries.updateOne({ _id: id, webhook, ...isNew }, [
        {
          $set: {
            resentBy: request,
            status: 'pending',
            dueAt: '$$NOW',
            giveUpAt: { $add: ['$$NOW', RETRY_MS] },
            expiresAt: { $max: ['$expiresAt', { $add: ['$$NOW', KEPT_MS] }] },
            endedAt: '$$REMOVE',
          },
        },
      ]);
      return (await deliveries.findOne({ _id: id, webhook }, { projection: { _id: 1 } })) !== null;
    },

    /** Fails deliveries that have been pending for too long. Returns their number. */
    async giveUp(): Promise<number> {
      const before = new Date((await now()).getTime() - GRACE_MS);
      const isLate = { status: 'pending' as const, giveUpAt: { $lt: before } };
      for (let given = 0; ; ) {
        const late = await deliveries
          .find(isLate)
          .limit(GIVE_UP_AT_ONCE)
          .project<{ _id: number }>({ _id: 1 })
          .toArray();
        const ids = { $in: late.map(({ _id }) => _id) };
        const { modifiedCount } = await deliveries.updateMany({ ...isLate, _id: ids }, [
          { $set: { status: 'failed', endedAt: '$$NOW', sender: '$$REMOVE' } },
        ]);
        given += modifiedCount;
        if (late.length < GIVE_UP_AT_ONCE) return given;
      }
    },

    /** Age of the oldest pending delivery; 0 if none is pending. */
    async oldestPendingSeconds(): Promise<number> {
      const [oldest] = await deliveries
        .find({ status: 'pending' })
        .sort({ giveUpAt: 1 })
        .limit(1)
        .project<Pick<DeliveryDocument, 'giveUpAt'>>({ giveUpAt: 1 })
        .toArray();
      if (!oldest) return 0;
      const since = oldest.giveUpAt.getTime() - RETRY_MS;
      return Math.max(0, ((await now()).getTime() - since) / 1_000);
    },

    removeOf: (webhook: number) => removeInSteps(deliveries, { webhook }),
  };
}
