/**
 * The processes that record and send events, two side by side, are killed (SIGKILL) and frozen, with a receiver that fails now and
 * then, while jobs run: every end is delivered at least once, as one event, and nothing else is.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { webhookPoints } from '../../api/jobs/fault-points.ts';
import { collections } from '../../schemas/documents.ts';
import type { DeliveryDocument } from '../../schemas/webhook-documents.ts';
import { type Receiver, startReceiver } from '../api/webhook-receiver.ts';
import { isFrozen, type Managed } from '../support/processes.ts';
import { patient } from '../support/settings.ts';
import { waitFor } from '../support/wait-for.ts';
import { setUpFaults } from './support/fixture.ts';
import type { FaultPoint } from './support/points.ts';
import { pointsOf } from './support/points.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('webhooks');
const points = pointsOf(webhookPoints, () => random.some<FaultPoint>(webhookPoints, 3));
const faults = setUpFaults(random, {
  apis: 2,
  more: {
    ...patient,
    HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1',
    HEADRACE_TEST_WEBHOOK_TIMEOUT_MS: '2000',
  },
});
const deliveries = () => faults.service.driver.db.collection<DeliveryDocument>(collections.deliveries);

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  receiver.answerWith(() => (random.chance(0.2) ? 503 : 204));
  const { driver, lanes, apis } = faults.service;
  for (const { partner } of lanes) {
    const { key } = await driver.stores.apiKeys.create(driver.config.secret, partner._id);
    const registered = await fetch(`${apis[0]!.url}/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${receiver.url}/${partner._id}` }),
    });
    expect(registered.status).toBe(201);
  }
});
afterAll(() => receiver?.close());

/** Each partner got exactly one event for each of its jobs, and nothing else. */
async function expectAllTold(): Promise<void> {
  await waitFor(async () => (await deliveries().countDocuments({ status: { $ne: 'delivered' } })) === 0, {
    what: 'all events to be delivered',
  });
  for (const { partner } of faults.service.lanes) {
    const ended = await faults.service.driver.jobs
      .find({ partner: partner._id, phase: 'ended', kind: { $ne: 'privacy' } })
      .sort({ _id: 1 })
      .toArray();
    const path = `/${partner._id}`;
    const byJob = new Map<number, Set<string>>();
    for (const { id, event, body } of receiver.received.filter((got) => got.path === path)) {
      const job = event.data.import_log_id ?? event.data.load_id;
      byJob.set(job, (byJob.get(job) ?? new Set()).add(`${id} ${body}`));
    }
    expect([...byJob.keys()].toSorted((a, b) => a - b)).toEqual(ended.map(({ _id }) => _id));
    expect([...byJob].filter(([, events]) => events.size !== 1)).toEqual([]);
  }
}

/** All ends are recorded once each partner's last end is. */
async function expectAllRecorded(): Promise<void> {
  const { driver, lanes } = faults.service;
  for (const { partner } of lanes)
    await waitFor(
      async () => {
        const endedJobs = { partner: partner._id, phase: 'ended', kind: { $ne: 'privacy' } } as const;
        const ended = await driver.jobs.countDocuments(endedJobs);
        const [webhook] = await driver.stores.webhooks.list(partner._id);
        return ended === (await deliveries().countDocuments({ webhook: webhook!._id }));
      },
      { what: `as many events as ended jobs of ${partner._id}` },
    );
}

async function startAll(...apis: Managed[]): Promise<void> {
  for (const api of apis) if (!api.running) api.start();
  await Promise.all(apis.map((api) => api.ready()));
}

it(`dies at ${points.join(', ')}; every end is told, and nothing else`, async () => {
  const [first, second] = faults.service.apis as [Managed, Managed];
  const load = faults.service.load({ size: 50 });
  for (const point of points) {
    await Promise.all([first.stop(), second.stop()]);
    first.start({ FAULT_POINT: `${point}:${1 + random.below(3)}:kill` });
    await first.gone();
    // The second process finishes what the first began.
    await startAll(second);
    await startAll(first);
  }
  await load.stop();
  await faults.expectExact();
  await expectAllRecorded();
  await expectAllTold();
});

it('freezes before it sends; another sends the event, and the late one changes nothing', async () => {
  const [first, second] = faults.service.apis as [Managed, Managed];
  await Promise.all([first.stop(), second.stop()]);
  const load = faults.service.load({ size: 50 });
  first.start({ FAULT_POINT: 'webhooks:before-post:1:stop' });
  await waitFor(() => isFrozen(first), { what: 'the frozen process' });
  const [taken] = await waitFor(
    async () => {
      const found = await deliveries()
        .find({ status: 'pending', sender: { $exists: true } })
        .toArray();
      return found.length > 0 ? found : null;
    },
    { what: 'what it has taken' },
  );
  await startAll(second);
  await waitFor(() => deliveries().findOne({ _id: taken!._id, status: 'delivered' }), {
    what: 'the other to send it',
  });
  first.signal('SIGCONT');
  await first.ready();
  await load.stop();
  await faults.expectExact();
  await expectAllRecorded();
  await expectAllTold();
});
