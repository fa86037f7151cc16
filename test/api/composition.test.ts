/** The composition report over HTTP: computed on request and cached until data changes. */
import { describe, expect, it } from 'vitest';
import { spaces } from '../../schemas/documents.ts';
import { composition, compositionProgress } from '../../schemas/http-composition.ts';
import { manifestsOf } from '../sets/database.ts';
import { eventually } from '../support/eventually.ts';
import { compositionOf, devices, readReport, useComposition } from './composition-scene.ts';
import { AUDIENCE } from './support.ts';

const { api, partner, scene, stored, get, report, computedBy } = await useComposition();

describe('a report', () => {
  it('is computed when it is asked for: 202 with progress, then 200, and kept', async () => {
    const attribute = await scene.attribute(partner, devices(0, 60), 'Travellers');
    const audience = await scene.audience(partner, {
      rows: { seen: devices(40, 140), '': devices(140, 150) },
    });
    const first = await get(audience);
    expect([first.status, first.headers.get('retry-after'), first.headers.get('cache-control')]).toEqual([
      202,
      '1',
      'no-store',
    ]);
    expect(compositionProgress.parse(first.json)).toMatchObject({ progress: 0, previous: null });

    const reply = await readReport(partner.call, audience);
    expect(composition.parse(reply.json)).toMatchObject({
      audience_id: audience,
      name: 'audience',
      current: true,
      floor: 0,
      unique_devices: 110,
      matched_devices: 20,
      match_rate: 20 / 110,
      marketplace_devices: 60,
      attributes: [
        {
          attribute_id: attribute,
          name: 'Travellers',
          owner: 'test',
          own: true,
          visibility: 'public',
          devices: 20,
          share: 20 / 110,
        },
      ],
      events: [
        { event: 'seen', devices: 100, rows: 100 },
        { event: '(no event)', devices: 10, rows: 10 },
      ],
      overlaps: [],
    });
    expect(reply.json.attributes[0].index).toBeCloseTo((100 * 20) / 110, 9);
    expect(reply.headers.get('cache-control')).toBe('private, no-cache');
    const etag = reply.headers.get('etag')!;
    const same = await partner.call('GET', compositionOf(audience), { headers: { 'if-none-match': etag } });
    expect([same.status, same.text]).toEqual([304, '']);
    expect(await partner.call('GET', compositionOf(audience).replace('v2', 'v1'))).toMatchObject({
      status: 200,
      json: reply.json,
    });
    const record = (await partner.call('GET', `${AUDIENCE}/${audience}`)).json;
    expect(record).toMatchObject({ matched_devices: 20, matched_by: 'report' });
    expect(record.matched_at <= reply.json.computed_at).toBe(true);
    // The log line and the metric follow the report.
    await eventually(() => computedBy(api.service.log('api'), audience)).toBe(1);
    const metrics = async () => (await fetch(`${api.service.metricsUrl}/metrics`)).text();
    await eventually(metrics).toMatch(/headrace_composition_duration_seconds_count [1-9]/);
  });

  it('is computed anew after an append, an import, a deletion and a load of another audience', async () => {
    const attribute = await scene.attribute(partner, devices(1_000, 1_010));
    const audience = await scene.audience(partner, { rows: { a: devices(1_000, 1_020) } });
    const of = async () => {
      const { attributes, ...rest } = await report(audience);
      return { ...rest, devices: attributes.find(({ attribute_id }) => attribute_id === attribute)?.devices };
    };
    expect(await of()).toMatchObject({ unique_devices: 20, matched_devices: 10, devices: 10 });
    await scene.append(partner, audience, { rows: { a: devices(1_010, 1_030) } });
    expect(await of()).toMatchObject({
      unique_devices: 30,
      matched_devices: 10,
      events: [{ event: 'a', devices: 30, rows: 40 }],
    });
    await scene.importInto(partner, [{ key: attribute, devices: devices(1_010, 1_025) }]);
    expect(await of()).toMatchObject({ matched_devices: 25, devices: 25 });
    const other = await scene.audience(partner, { rows: { b: devices(1_025, 1_045) } }, { name: 'Other' });
    const shared = {
      audience_id: other,
      name: 'Other',
      devices: 5,
      share_of_this: 5 / 30,
      share_of_other: 5 / 20,
    };
    expect((await of()).overlaps).toEqual([shared]);
    await scene.delete(partner, attribute);
    expect(await of()).toMatchObject({ matched_devices: 0, devices: undefined });
  });

  it('of a cleared audience is all zero at once; what follows is counted without the old', async () => {
    await scene.attribute(partner, devices(2_000, 2_010));
    const audience = await scene.audience(partner, { rows: { a: devices(2_000, 2_050) } });
    const neighbour = await scene.audience(partner, { rows: { a: devices(2_040, 2_060) } });
    expect((await report(neighbour)).overlaps.find((one) => one.audience_id === audience)!.devices).toBe(10);
    await report(audience);
    await partner.call('PUT', `${AUDIENCE}/${audience}`);
    const cleared = await get(audience);
    expect(cleared.status).toBe(200);
    expect(composition.parse(cleared.json)).toMatchObject({
      current: true,
      unique_devices: 0,
      matched_devices: 0,
      match_rate: 0,
      attributes: [],
      events: [],
      overlaps: [],
    });
    expect((await report(neighbour)).overlaps.map((one) => one.audience_id)).not.toContain(audience);
    await scene.append(partner, audience, { rows: { b: devices(2_000, 2_005) } });
    expect((await get(audience, '?previous=true')).json).toMatchObject({ previous: null });
    expect(await report(audience)).toMatchObject({
      unique_devices: 5,
      matched_devices: 5,
      events: [{ event: 'b', devices: 5, rows: 5 }],
    });
  });

  it('counts event values beyond the first 10,000 as (other), devices and rows', async () => {
    const audience = await scene.audience(partner, { rows: { known: devices(2_500, 2_510) } });
    const more = Array.from({ length: 9_999 }, (_, i) => `value ${i}`);
    expect(await scene.eventValues.assign(audience, 1, more)).toBe(false);
    const rows = {
      known: devices(2_505, 2_515),
      late: devices(2_515, 2_525),
      later: [...devices(2_520, 2_530), ...devices(2_520, 2_523)],
      '(other)': devices(2_529, 2_531),
      '': devices(2_531, 2_540),
    };
    await scene.append(partner, audience, { rows });
    expect(await report(audience)).toMatchObject({
      unique_devices: 40,
      events: [
        { event: '(other)', devices: 16, rows: 25 },
        { event: 'known', devices: 15, rows: 20 },
        { event: '(no event)', devices: 9, rows: 9 },
      ],
    });
  });

  it('is computed again on POST, and meanwhile the previous one can be had', async () => {
    const audience = await scene.audience(partner, { rows: { a: devices(3_000, 3_050) } });
    const before = await report(audience);
    const giveBack = await scene.withhold(audience);
    const posted = await partner.call('POST', compositionOf(audience));
    expect([posted.status, posted.headers.get('retry-after')]).toEqual([202, '1']);
    compositionProgress.parse(posted.json);
    const during = await get(audience, '?previous=true');
    expect(during.status).toBe(202);
    expect(compositionProgress.parse(during.json).previous).toEqual({ ...before, current: false });
    await giveBack();
    const after = await report(audience);
    expect(after.computed_at > before.computed_at).toBe(true);
    expect({ ...after, computed_at: '' }).toEqual({ ...before, computed_at: '' });
  });

  it('that was overtaken by a merge is shown for a while, and says so', async () => {
    const attribute = await scene.attribute(partner, devices(4_000, 4_010));
    const audience = await scene.audience(partner, { rows: { a: devices(4_000, 4_050) } });
    const job = await partner.queueImport();
    await api.jobs.updateOne({ _id: job }, { $set: { phase: 'decided', status: 1 } });
    const computedAgo = (ms: number) =>
      stored().updateOne({ _id: audience }, [
        { $set: { 'report.computedAt': { $subtract: ['$$NOW', ms] } } },
      ]);
    await report(audience);
    // It stays fresh for ten minutes.
    await computedAgo(-600_000);
    const overtaken = await report(audience);
    expect(overtaken).toMatchObject({ current: false, matched_devices: 10 });
    expect(await report(audience)).toEqual(overtaken);
    await computedAgo(11_000);
    expect((await get(audience)).status).toBe(202);
    await report(audience);
    await scene.end(job);
    await computedAgo(11_000);
    expect((await report(audience)).current).toBe(true);
    expect(attribute).toBeGreaterThan(0);
  });

  it('that fails is told once as 503, and may be asked for again', async () => {
    const audience = await scene.audience(partner, { rows: { a: devices(5_000, 5_010) } });
    await scene.attribute(partner, devices(5_000, 5_001));
    const sound = (await manifestsOf(api.db).findOne({ space: spaces.audience(audience, 1) }))!;
    await manifestsOf(api.db).updateOne({ _id: sound._id }, { $set: { regions: null as never } });
    const failed = await readReport(partner.call, audience);
    expect([failed.status, failed.json.code]).toEqual([503, 'unavailable']);
    await manifestsOf(api.db).replaceOne({ _id: sound._id }, sound);
    expect((await get(audience)).status).toBe(202);
    expect(await report(audience)).toMatchObject({ matched_devices: 1 });
  });
});
