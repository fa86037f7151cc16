/** Webhooks: URLs that partners get notified at when jobs finish. Their secrets are encrypted, each bound to its webhook. */
import { createHash, randomBytes } from 'node:crypto';
import { Binary, type ClientSession, type Db, ReturnDocument } from 'mongodb';
import { reseal, seal, unseal } from '../../pipeline/runtime/seal.ts';
import { inFreePlace, violatedKey } from '../../pipeline/stores/places.ts';
import { collections } from '../../schemas/documents.ts';
import type { WebhookDocument, WebhookSecret } from '../../schemas/webhook-documents.ts';

export type WebhookChange = Partial<Pick<WebhookDocument, 'url' | 'description' | 'isActive' | 'since'>>;
type Owner = Pick<WebhookDocument, '_id' | 'partner'>;

/** Each secret signs every delivery, so repeated rotations within the overlap must not add up. */
const MAX_SECRETS = 3;
const SECRET_BYTES = 32;

const contextOf = ({ _id, partner }: Owner) => `${partner}/webhook ${_id}`;

/** In the form of Standard Webhooks. Shown once. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export const sealWebhookSecret = (secret: Uint8Array, owner: Owner, text: string): WebhookSecret => ({
  id: createHash('sha256').update(text).digest('base64url').slice(0, 16),
  sealed: new Binary(seal(secret, text, contextOf(owner))),
  createdAt: new Date(),
});

/** The secrets that sign now, the current one first. */
export const webhookSecrets = (
  secrets: readonly Uint8Array[],
  webhook: WebhookDocument,
  now: Date,
): string[] =>
  webhook.secrets
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    .map(({ sealed }) => unseal(secrets, sealed, contextOf(webhook)));

export function createWebhookStore(db: Db) {
  const webhooks = db.collection<WebhookDocument>(collections.webhooks);
  const after = { returnDocument: ReturnDocument.AFTER };

  /** `taken` if the partner has a webhook with this URL, or this webhook is already stored. */
  async function unlessTaken<T>(write: Promise<T>): Promise<T | 'taken'> {
    return write.catch((error: unknown) => {
      const key = violatedKey(error);
      if (key?.includes('url') || key?.includes('_id')) return 'taken';
      throw error;
    });
  }

  return {
    /** Monotonic reads within the session, across a change of primary. */
    inSession: <T>(read: (session: ClientSession) => Promise<T>): Promise<T> =>
      db.client.withSession({ causalConsistency: true }, read),

    /** `full` if the partner has the maximum. */
    insert: (webhook: Omit<WebhookDocument, 'place'>, max: number) => {
      const { partner } = webhook;
      const places = { projection: { place: 1 } };
      const held = async () =>
        (await webhooks.find({ partner }, places).toArray()).map(({ place }) => ({ place, customer: null }));
      const limits = { perPartner: max, perCustomer: 0 };
      return inFreePlace({ customer: null, limits, held }, ({ place }) => {
        const placed = { ...webhook, place };
        return unlessTaken(webhooks.insertOne(placed).then(() => placed));
      });
    },

    find: (partner: string, id: number) => webhooks.findOne({ _id: id, partner }),
    /** Of any partner. */
    read: (id: number) => webhooks.findOne({ _id: id }),

    /** Oldest first; of all partners if none is given. */
    list: (partner?: string): Promise<WebhookDocument[]> =>
      webhooks
        .find(partner === undefined ? {} : { partner })
        .sort({ _id: 1 })
        .toArray(),

    active: (session?: ClientSession): Promise<WebhookDocument[]> =>
      webhooks.find({ isActive: true }, { session }).toArray(),

    change: (partner: string, id: number, change: WebhookChange) =>
      unlessTaken(
        webhooks.findOneAndUpdate(
          { _id: id, partner },
          {
            $set: { ...change, updatedAt: new Date() },
            ...(change.isActive ? { $unset: { isGone: '' } } : {}),
          },
          after,
        ),
      ),

    /** The receiver answered 410 Gone. No effect if the URL has changed since. */
    disableGone: ({ _id, url }: WebhookDocument) =>
      webhooks.updateOne(
        { _id, url, isActive: true },
        { $set: { isActive: false, isGone: true, updatedAt: new Date() } },
      ),

    /** Old secrets keep signing for `overlapMs`, by the database's clock. Idempotent for a secret. */
    async rotate({ _id, partner }: Owner, secret: WebhookSecret, overlapMs: number) {
      const rotated = await webhooks.findOneAndUpdate(
        { _id, partner, 'secrets.id': { $ne: secret.id } },
        [
          {
            $set: {
              secrets: {
                $slice: [
                  {
                    $concatArrays: [
                      [{ $literal: secret }],
                      {
                        $map: {
                          input: '$secrets',
                          as: 'one',
                          in: {
                            $mergeObjects: [
                              '$$one',
                              { expiresAt: { $ifNull: ['$$one.expiresAt', { $add: ['$$NOW', overlapMs] }] } },
                            ],
                          },
                        },
                      },
                    ],
                  },
                  MAX_SECRETS,
                ],
              },
              updatedAt: '$$NOW',
            },
          },
        ],
        after,
      );
      return rotated ?? webhooks.findOne({ _id, partner });
    },

    async remove(partner: string, id: number): Promise<boolean> {
      return (await webhooks.deleteOne({ _id: id, partner })).deletedCount === 1;
    },

    /** Re-encrypts with the current secret. Returns the number of webhooks changed. */
    async reseal(secrets: readonly Uint8Array[]): Promise<number> {
      let changed = 0;
      for await (const webhook of webhooks.find()) {
        const renewed = webhook.secrets.map((one) => {
          const sealed = reseal(secrets, one.sealed, contextOf(webhook));
          return sealed ? { ...one, sealed: new Binary(sealed) } : one;
        });
        if (renewed.every((one, i) => one === webhook.secrets[i])) continue;
        // No effect if the webhook was rotated meanwhile: the next run re-encrypts its older secrets.
        const written = await webhooks.updateOne(
          { _id: webhook._id, secrets: webhook.secrets },
          { $set: { secrets: renewed } },
        );
        changed += written.modifiedCount;
      }
      return changed;
    },
  };
}
