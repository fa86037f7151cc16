/** Several API processes compute a report once, and one takes over if another crashes. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { compositionOf, devices, readReport, secondApi, useComposition } from './composition-scene.ts';

const { api, partner, scene, stored, get, report, computedBy } = await useComposition();

describe('several API processes', () => {
  it('compute a report once, and show the same progress', async () => {
    const second = await secondApi(api, partner.key);
    try {
      const audience = await scene.audience(partner, { rows: { a: devices(6_000, 6_100) } });
      const giveBack = await scene.withhold(audience);
      const both = await Promise.all(
        [partner.call, second.call, partner.call, second.call].map((call) =>
          call('GET', compositionOf(audience)),
        ),
      );
      expect(both.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
      expect(new Set(both.map(({ json }) => json.started_at)).size).toBe(1);
      await giveBack();
      const reports = await Promise.all(
        [partner.call, second.call].map((call) => readReport(call, audience)),
      );
      expect(reports[0]!.json).toEqual(reports[1]!.json);
      const logs = [api.service.log('api'), second.service.log('api')];
      const computed = () => logs.reduce((sum, log) => sum + computedBy(log, audience), 0);
      await eventually(computed).toBe(1);
    } finally {
      await second.service.stop();
    }
  });

  it('wait for one that is alive, and take over from one that is dead', async () => {
    await api.service.restart('api', { HEADRACE_TEST_COMPOSITION_DEAD_MS: '10000' });
    const audience = await scene.audience(partner, { rows: { a: devices(7_000, 7_010) } });
    const claim = { token: 'another', generation: 1, progress: 0.25 };
    const beatAgo = (ms: number) =>
      stored().updateOne(
        { _id: audience },
        [
          {
            $set: {
              generation: 1,
              claim: { $literal: { ...claim, startedAt: new Date('2026-06-01T00:00:00Z') } },
            },
          },
          { $set: { 'claim.heartbeat': { $subtract: ['$$NOW', ms] } } },
        ],
        { upsert: true },
      );
    // A heartbeat ten minutes in the future.
    await beatAgo(-600_000);
    for (let i = 0; i < 3; i++)
      expect(await get(audience)).toMatchObject({
        status: 202,
        json: { progress: 0.25, started_at: '2026-06-01T00:00:00.000Z' },
      });
    await beatAgo(10_500);
    expect((await get(audience)).json).toMatchObject({ progress: 0 });
    expect(await report(audience)).toMatchObject({ unique_devices: 10 });
  });

  it('take over from one that was killed', async () => {
    const second = await secondApi(api, partner.key);
    const audience = await scene.audience(partner, { rows: { a: devices(7_500, 7_600) } });
    const giveBack = await scene.withhold(audience);
    expect((await second.call('POST', compositionOf(audience))).status).toBe(202);
    await second.service.kill('api');
    expect((await get(audience)).status).toBe(202);
    await giveBack();
    expect(await report(audience)).toMatchObject({ unique_devices: 100, current: true });
    expect(computedBy(second.service.log('api'), audience)).toBe(0);
    await eventually(() => computedBy(api.service.log('api'), audience)).toBe(1);
  });

  it('one that is stopped in the middle of a computation gives it up at once', async () => {
    const second = await secondApi(api, partner.key);
    const audience = await scene.audience(partner, { rows: { a: devices(8_000, 8_100) } });
    const giveBack = await scene.withhold(audience);
    expect((await second.call('POST', compositionOf(audience))).status).toBe(202);
    expect(await second.service.api.stop()).toBe(0);
    expect(computedBy(second.service.log('api'), audience)).toBe(0);
    expect((await stored().findOne({ _id: audience }))?.claim).toBeUndefined();
    await giveBack();
    expect(await report(audience)).toMatchObject({ unique_devices: 100 });
  });
});
