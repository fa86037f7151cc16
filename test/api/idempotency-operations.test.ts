/** Every operation that changes something is applied once per Idempotency-Key, whatever happens between the repetitions. */
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../api/http/operation.ts';
import { collections, type IdempotencyDocument } from '../../schemas/documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { operations } from './operations.ts';
import { AUDIENCE, IMPORT, type Reply, type TestPartner } from './support.ts';
import { useApi } from './use-api.ts';

const api = useApi();

const HOOKS = '/v1/webhooks';

interface Trial {
  /** Path parameters. */
  at?: Record<string, number>;
  query?: string;
  body?: object;
  /** The state that the operation changes, and its value after one application. */
  effect(): Promise<unknown>;
  once?: unknown;
  /** A later change that a repetition must neither undo nor fail on. */
  afterwards?(first: Reply): Promise<unknown>;
  /** Applied again if the response was lost: the operation is naturally idempotent. */
  repeats?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: what is stored, whatever it is
type Stored = { _id: number; [field: string]: any };
const collection = (name: keyof typeof collections) => api.db.collection<Stored>(collections[name]);
const jobsOf = (partner: TestPartner) => api.jobs.countDocuments({ partner: partner.id });
const webhooksOf = ({ id }: TestPartner) => collection('webhooks').find({ partner: id }).toArray();

async function newAudience(partner: TestPartner) {
  const { json } = await partner.call('POST', AUDIENCE, { body: { name: 'n', file_path: 'a' } });
  const audience_id: number = json.audience_id;
  const audience = async () => (await collection('audiences').findOne({ _id: audience_id }))!;
  const remove = () => partner.call('DELETE', `${AUDIENCE}/${audience_id}`);
  return { at: { audience_id }, audience, remove };
}

async function newWebhook(partner: TestPartner) {
  const { json } = await partner.call('POST', HOOKS, { body: { url: 'https://hooks.invalid/' } });
  const webhook_id: number = json.webhook_id;
  const remove = () => partner.call('DELETE', `${HOOKS}/${webhook_id}`);
  const webhook = async () => (await collection('webhooks').findOne({ _id: webhook_id }))!;
  return { at: { webhook_id }, path: `${HOOKS}/${webhook_id}`, webhook, remove };
}

/** By operation; an operation that exists in both `/v1` and `/v2` is tested in both. */
const trials: Record<string, ((partner: TestPartner) => Promise<Trial>)[]> = {
  queueImport: [
    async (partner) => ({
      body: { file_path: 'a', key_type: 0 },
      effect: () => jobsOf(partner),
      once: 1,
    }),
    async (partner) => ({
      query: '?dry_run=true',
      body: { file_path: 'a', key_type: 0 },
      effect: () => collection('dryRuns').countDocuments({ partner: partner.id }),
      once: 1,
    }),
  ],
  deleteAttributeData: [
    async (partner) => ({
      body: { key_type: 0, keys: [String(await api.attribute(partner))] },
      effect: () => jobsOf(partner),
      once: 1,
    }),
  ],
  changeAttribute: [
    async (partner) => {
      const attribute_id = await api.attribute(partner);
      return {
        at: { attribute_id },
        body: { visibility: 'private' },
        effect: async () => (await collection('attributes').findOne({ _id: attribute_id }))?.isPrivate,
        once: true,
        afterwards: () =>
          partner.call('PATCH', `/v1/marketplace/attribute/${attribute_id}`, {
            body: { visibility: 'public' },
          }),
      };
    },
  ],
  deleteAttribute: [
    async (partner) => ({
      at: { attribute_id: await api.attribute(partner) },
      effect: () => jobsOf(partner),
      once: 1,
    }),
  ],
  createAudience: [
    async (partner) => ({
      body: { name: 'n', file_path: 'a' },
      effect: () => jobsOf(partner),
      once: 1,
      afterwards: ({ json }) => partner.call('DELETE', `${AUDIENCE}/${json.audience_id}`),
    }),
    async (partner) => ({
      query: '?dry_run=true',
      body: { name: 'n', file_path: 'a' },
      effect: () => collection('dryRuns').countDocuments({ partner: partner.id }),
      once: 1,
    }),
  ],
  changeAudience: [
    async (partner) => {
      const { at, remove } = await newAudience(partner);
      return {
        at,
        body: { file_path: 'b' },
        effect: () => jobsOf(partner),
        once: 2,
        afterwards: remove,
      };
    },
    async (partner) => {
      const { at, audience } = await newAudience(partner);
      return {
        at,
        body: { name: 'first' },
        effect: async () => (await audience()).name,
        once: 'first',
        afterwards: () =>
          partner.call('PATCH', `${AUDIENCE}/${at.audience_id}`, { body: { name: 'second' } }),
      };
    },
  ],
  clearAudience: [
    async (partner) => {
      const { at, audience } = await newAudience(partner);
      return {
        at,
        effect: async () => (await audience()).generation,
        once: 2,
        afterwards: () => partner.call('PUT', `${AUDIENCE}/${at.audience_id}`),
      };
    },
  ],
  deleteAudience: [
    async (partner) => {
      const { at, audience } = await newAudience(partner);
      return { at, effect: async () => (await audience()).generation, once: 2 };
    },
  ],
  computeComposition: [
    async (partner) => {
      const { at, remove } = await newAudience(partner);
      const computed = async () => {
        const found = await collection('compositions').findOne({ _id: at.audience_id });
        return found?.claim ? undefined : found?.report?.token;
      };
      return {
        at,
        effect: () => waitFor(computed, { what: 'the report' }),
        afterwards: remove,
        repeats: true,
      };
    },
  ],
  shareComposition: [
    async (partner) => {
      const { at, remove } = await newAudience(partner);
      return { at, body: {}, effect: () => jobsOf(partner), once: 1, afterwards: remove };
    },
  ],
  requestPrivacy: [
    async (partner) => ({
      body: { type: 'delete', identifiers: ['8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11'] },
      effect: () => jobsOf(partner),
      once: 1,
    }),
  ],
  createWebhook: [
    async (partner) => ({
      body: { url: 'https://hooks.invalid/' },
      effect: async () => (await webhooksOf(partner)).length,
      once: 1,
      afterwards: ({ json }) => partner.call('DELETE', `${HOOKS}/${json.webhook_id}`),
    }),
  ],
  changeWebhook: [
    async (partner) => {
      const { at, path, webhook } = await newWebhook(partner);
      return {
        at,
        body: { description: 'first' },
        effect: async () => (await webhook()).description,
        once: 'first',
        afterwards: () => partner.call('PATCH', path, { body: { description: 'second' } }),
      };
    },
  ],
  deleteWebhook: [
    async (partner) => {
      const { at } = await newWebhook(partner);
      return { at, effect: async () => (await webhooksOf(partner)).length, once: 0 };
    },
  ],
  rotateWebhookSecret: [
    async (partner) => {
      const { at, remove } = await newWebhook(partner);
      return {
        at,
        effect: async () => (await webhooksOf(partner)).map(({ secrets }) => secrets.length),
        once: [2],
        afterwards: remove,
      };
    },
  ],
  testWebhook: [
    async (partner) => {
      const { at, remove } = await newWebhook(partner);
      const deliveries = () => collection('deliveries').countDocuments({ webhook: at.webhook_id });
      return {
        at,
        effect: deliveries,
        once: 1,
        async afterwards() {
          await remove();
          await waitFor(async () => (await deliveries()) === 0, { what: 'the deliveries to be gone' });
        },
      };
    },
  ],
  redeliverWebhookEvent: [
    async (partner) => {
      const { at, path, remove } = await newWebhook(partner);
      const { delivery_id } = (await partner.call('POST', `${path}/test`)).json;
      const delivery = () => collection('deliveries').findOne({ _id: delivery_id });
      // A delivery in flight is not sent again: wait for the first attempt, and postpone the next.
      const tried = { _id: delivery_id, tries: { $gt: 0 }, sender: { $exists: false } };
      const postpone = () =>
        collection('deliveries').updateOne(tried, { $set: { dueAt: new Date(Date.now() + 3_600_000) } });
      await waitFor(async () => (await postpone()).matchedCount === 1, { what: 'an attempt' });
      return {
        at: { ...at, delivery_id },
        effect: async () => (await delivery())?.giveUpAt,
        async afterwards() {
          await remove();
          await waitFor(async () => (await delivery()) === null, { what: 'the delivery to be gone' });
        },
      };
    },
  ],
};

const changing = operations.filter(({ method }) => method !== 'get');
const trialsOf = ({ operationId }: Operation) => trials[operationId.replace(/V1$/, '')] ?? [];
const all = changing.flatMap((operation) => trialsOf(operation).map((make) => ({ ...operation, make })));

const answerOf = ({ status, text, headers }: Reply) => ({
  status,
  text,
  location: headers.get('location'),
  retryAfter: headers.get('retry-after'),
});

async function loseAnswer(partner: TestPartner, key: string): Promise<void> {
  const marks = api.db.collection<IdempotencyDocument>(collections.idempotency);
  const _id = `${partner.id}/${key}`;
  await waitFor(async () => (await marks.findOne({ _id }))?.answer, { what: 'the answer' });
  await marks.updateOne({ _id }, { $unset: { answer: '' } });
}

it('every operation that changes something is tried here', () => {
  for (const operation of changing)
    expect([operation.operationId, trialsOf(operation).length]).not.toEqual([operation.operationId, 0]);
});

describe.concurrent('with an Idempotency-Key', () => {
  it.each(all)('$method $path', async ({ method, path, make }) => {
    const partner = await api.partner();
    const { at = {}, query = '', body, effect, once, afterwards, repeats } = await make(partner);
    const address = path.replace(/:(\w+)/g, (_, name: string) => String(at[name])) + query;
    const send = (key: string) =>
      partner.call(method.toUpperCase(), address, { body, headers: { 'idempotency-key': key } });

    const bad = await send('not a key');
    expect([bad.status, bad.json.code]).toEqual([400, 'bad_idempotency_key']);

    const [first, ...same] = await Promise.all([send('one'), send('one'), send('one')]);
    expect([first.text, first.status < 300]).toEqual([first.text, true]);
    for (const reply of same) expect(answerOf(reply)).toEqual(answerOf(first));
    let done = await effect();
    if (once !== undefined) expect(done).toEqual(once);
    expect(answerOf(await send('one'))).toEqual(answerOf(first));
    expect(await effect()).toEqual(done);

    const before = await jobsOf(partner);
    const other = await partner.call('POST', IMPORT, {
      body: { file_path: 'other', key_type: 0 },
      headers: { 'idempotency-key': 'one' },
    });
    expect([other.status, other.json.code]).toEqual([409, 'idempotency_conflict']);
    expect(await jobsOf(partner)).toBe(before);

    if (!repeats) {
      // As after a crash before the response was stored.
      await loseAnswer(partner, 'one');
      expect(answerOf(await send('one'))).toEqual(answerOf(first));
      expect(await effect()).toEqual(done);
    }
    if (afterwards) {
      await afterwards(first);
      done = await effect();
      expect(answerOf(await send('one'))).toEqual(answerOf(first));
      expect(await effect()).toEqual(done);
    }
  });
});
