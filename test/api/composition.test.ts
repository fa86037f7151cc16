/** The composition report over HTTP: computed once by whoever is asked, kept while nothing changes, shown to whom it belongs. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signUserToken } from '../../api/user-tokens.ts';
import type { CompositionDocument } from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';
import { composition, compositionProgress } from '../../schemas/http-composition.ts';
import { manifestsOf } from '../sets/database.ts';
import { numberedDevice } from '../sets/devices.ts';
import { startService } from '../support/stack.ts';
import { compositionOf, createScene, readReport } from './composition-scene.ts';
import { type Api, AUDIENCE, createCaller, startApi, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
let scene: ReturnType<typeof createScene>;
beforeAll(async () => {
  api = await startApi();
  partner = await api.partner();
  scene = createScene(api);
});
afterAll(() => api?.stop());

const devices = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => numberedDevice(from + i));
const stored = () => api.db.collection<CompositionDocument>(collections.compositions);
const get = (audience: number, query = '') => partner.call('GET', compositionOf(audience) + query);
const report = async (audience: number) => composition.parse((await readReport(partner.call, audience)).json);
const computedBy = (log: string, audience: number) =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes('composition computed') && line.includes(`"audience":${audience},`))
    .length;

/** Another API process on the same database. */
async function secondApi(env: Record<string, string> = {}) {
  const { HEADRACE_API_PORT, HEADRACE_API_METRICS_PORT, HEADRACE_PIPELINE_PORT, ...same } = api.service.env;
  const service = await startService({ parts: ['api'], env: { ...same, ...env } });
  return { service, call: createCaller(service.apiUrl, partner.key) };
}

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
      attributes: [{ attribute_id: attribute, name: 'Travellers', devices: 20, share: 20 / 110 }],
      events: [{ event: 'seen', devices: 100, rows: 100 }],
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
    expect((await scene.audiences.findOne({ _id: audience }))!.matchedDevices).toBe(20);
    expect(computedBy(api.service.log('api'), audience)).toBe(1);
    const metrics = await (await fetch(`${api.service.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/headrace_composition_duration_seconds_count [1-9]/);
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
    await scene.import(partner, attribute, devices(1_010, 1_025));
    expect(await of()).toMatchObject({ matched_devices: 25, devices: 25 });
    const other = await scene.audience(partner, { rows: { b: devices(1_025, 1_045) } }, { name: 'Other' });
    const shared = {
      audience_id: other,
      name: 'Other',
      devices: 5,
      share_of_this: 5 / 30,
      share_of_other: 5 / 20,
    };
    expect((await of()).overlaps[0]).toEqual(shared);
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

  it('is computed again on POST, and meanwhile the previous one can be had', async () => {
    const audience = await scene.audience(partner, { rows: { a: devices(3_000, 3_050) } });
    const before = await report(audience);
    const posted = await partner.call('POST', compositionOf(audience));
    expect([posted.status, posted.headers.get('retry-after')]).toEqual([202, '1']);
    compositionProgress.parse(posted.json);
    const during = await get(audience, '?previous=true');
    expect(during.status).toBe(202);
    expect(compositionProgress.parse(during.json).previous).toEqual({ ...before, current: false });
    const after = await report(audience);
    expect(after.computed_at > before.computed_at).toBe(true);
    expect({ ...after, computed_at: '' }).toEqual({ ...before, computed_at: '' });
  });

  it('that was overtaken by a merge is shown for a while, and says so', async () => {
    const attribute = await scene.attribute(partner, devices(4_000, 4_010));
    const audience = await scene.audience(partner, { rows: { a: devices(4_000, 4_050) } });
    const job = await scene.queueImport(partner);
    await scene.phase(job, 'sealed');
    const overtaken = await report(audience);
    expect(overtaken).toMatchObject({ current: false, matched_devices: 10 });
    expect(await report(audience)).toEqual(overtaken);
    await stored().updateOne({ _id: audience }, [
      { $set: { 'report.computedAt': { $subtract: ['$$NOW', 11_000] } } },
    ]);
    expect((await get(audience)).status).toBe(202);
    await report(audience);
    await scene.phase(job, 'ended');
    await stored().updateOne({ _id: audience }, [
      { $set: { 'report.computedAt': { $subtract: ['$$NOW', 11_000] } } },
    ]);
    expect((await report(audience)).current).toBe(true);
    expect(attribute).toBeGreaterThan(0);
  });

  it('that fails is told once as 503, and may be asked for again', async () => {
    const audience = await scene.audience(partner, { rows: { a: devices(5_000, 5_010) } });
    const broken = await scene.attribute(partner, devices(5_000, 5_001));
    const manifest = { set: `attribute:${broken}`, count: 1 };
    const [sound] = await manifestsOf(api.db).find(manifest).toArray();
    await manifestsOf(api.db).updateOne(
      { _id: sound!._id },
      { $set: { inline: sound!.inline.buffer.subarray(1) as never } },
    );
    const failed = await readReport(partner.call, audience);
    expect([failed.status, failed.json.code]).toEqual([503, 'unavailable']);
    await manifestsOf(api.db).updateOne({ _id: sound!._id }, { $set: { inline: sound!.inline } });
    expect((await get(audience)).status).toBe(202);
    expect(await report(audience)).toMatchObject({ matched_devices: 1 });
  });
});

describe('several API processes', () => {
  it('compute a report once, and show the same progress', async () => {
    const second = await secondApi();
    try {
      const audience = await scene.audience(partner, { rows: { a: devices(6_000, 6_100) } });
      const both = await Promise.all(
        [partner.call, second.call, partner.call, second.call].map((call) =>
          call('GET', compositionOf(audience)),
        ),
      );
      expect(both.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
      expect(new Set(both.map(({ json }) => json.started_at)).size).toBe(1);
      const reports = await Promise.all(
        [partner.call, second.call].map((call) => readReport(call, audience)),
      );
      expect(reports[0]!.json).toEqual(reports[1]!.json);
      const logs = [api.service.log('api'), second.service.log('api')];
      expect(logs.reduce((sum, log) => sum + computedBy(log, audience), 0)).toBe(1);
    } finally {
      await second.service.stop();
    }
  });

  it('wait for one that is alive, and take over from one that is dead', async () => {
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
    await beatAgo(0);
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
    const second = await secondApi();
    const audience = await scene.audience(partner, { rows: { a: devices(7_500, 7_600) } });
    expect((await second.call('POST', compositionOf(audience))).status).toBe(202);
    await second.service.kill('api');
    expect((await get(audience)).status).toBe(202);
    expect(await report(audience)).toMatchObject({ unique_devices: 100, current: true });
    expect(computedBy(second.service.log('api'), audience)).toBe(0);
    expect(computedBy(api.service.log('api'), audience)).toBe(1);
  });

  it('one that is stopped in the middle of a computation gives it up at once', async () => {
    const second = await secondApi();
    const audience = await scene.audience(partner, { rows: { a: devices(8_000, 8_100) } });
    expect((await second.call('POST', compositionOf(audience))).status).toBe(202);
    const since = performance.now();
    await second.service.stop();
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(second.service.apiProcess.exitCode).toBe(0);
    expect((await stored().findOne({ _id: audience }))?.claim).toBeUndefined();
    expect(await report(audience)).toMatchObject({ unique_devices: 100 });
  });
});

describe('who sees what', () => {
  it('a customer sees its own overlaps; another’s audience is not found', async () => {
    const token = (customer: string) =>
      signUserToken(api.config.userTokenSecret!, { partner: partner.id, customer }, '1h');
    const [red, blue] = [{ 'x-user-token': await token('red') }, { 'x-user-token': await token('blue') }];
    const rows = { a: devices(9_000, 9_040) };
    const own = await scene.audience(partner, { rows }, { name: 'Red 1', headers: red });
    const sibling = await scene.audience(partner, { rows }, { name: 'Red 2', headers: red });
    const foreign = await scene.audience(partner, { rows }, { name: 'Blue', headers: blue });
    const seen = async (headers: Record<string, string>) => {
      const { overlaps } = composition.parse((await readReport(partner.call, own, '', headers)).json);
      return overlaps.filter(({ devices: common }) => common! > 0).map(({ audience_id }) => audience_id);
    };
    expect(await seen({})).toEqual([sibling, foreign]);
    expect(await seen(red)).toEqual([sibling]);
    const stranger = await api.partner();
    for (const method of ['GET', 'POST']) {
      const paths = [compositionOf(own), compositionOf(987_654_321)];
      for (const path of paths) {
        expect((await stranger.call(method, path)).status).toBe(404);
        expect((await partner.call(method, path, { headers: blue })).status).toBe(404);
      }
    }
    expect((await api.anonymous('GET', compositionOf(own))).status).toBe(401);
  });

  it('unknown parameters and values are refused', async () => {
    const audience = await scene.audience(partner, { rows: { a: devices(9_100, 9_101) } });
    for (const query of ['?formt=csv', '?format=xml', '?previous=yes', '?format=csv&format=json'])
      expect([query, (await get(audience, query)).status]).toEqual([query, 422]);
    expect((await partner.call('POST', `${compositionOf(audience)}?format=csv`)).status).toBe(422);
  });
});

describe('the privacy floor', () => {
  const FLOOR = 10;

  it('hides every count below it, in JSON, CSV and the audience’s record, and not even their order shows', async () => {
    const owner = await api.partner();
    const counts = [12, 3, 9, 0, 10, 1];
    const attributes: number[] = [];
    for (const count of counts)
      attributes.push(
        await scene.attribute(owner, [...devices(10_000, 10_000 + count), ...devices(11_000, 11_020)]),
      );
    const rows = {
      big: devices(10_000, 10_015),
      small: devices(10_015, 10_019),
      tiny: devices(10_019, 10_020),
    };
    const audience = await scene.audience(owner, { rows });
    const near = await scene.audience(owner, { rows: { a: devices(10_018, 10_040) } });
    const far = await scene.audience(owner, { rows: { a: devices(10_000, 10_011) } });
    const small = await scene.audience(owner, { rows: { a: devices(10_000, 10_009) } });
    const second = await secondApi({ HEADRACE_PRIVACY_FLOOR: String(FLOOR) });
    try {
      const call = createCaller(second.service.apiUrl, owner.key);
      const shown = composition.parse((await readReport(call, audience)).json);
      expect(shown).toMatchObject({ floor: FLOOR, unique_devices: 20, matched_devices: 12, match_rate: 0.6 });
      const mine = shown.attributes.filter(({ attribute_id }) => attributes.includes(attribute_id));
      expect(mine.map(({ attribute_id, devices: count }) => [attribute_id, count])).toEqual([
        [attributes[0], 12],
        [attributes[4], 10],
        ...[1, 2, 3, 5].map((i) => [attributes[i], null]),
      ]);
      for (const { devices: count, share, index } of shown.attributes)
        expect([share === null, index === null]).toEqual([count === null, count === null]);
      expect(shown.events).toEqual([
        { event: 'big', devices: 15, rows: 15 },
        { event: 'small', devices: null, rows: null },
        { event: 'tiny', devices: null, rows: null },
      ]);
      expect(shown.overlaps.map(({ name: _, ...overlap }) => overlap)).toEqual([
        { audience_id: far, devices: 11, share_of_this: 0.55, share_of_other: 1 },
        { audience_id: near, devices: null, share_of_this: null, share_of_other: null },
        { audience_id: small, devices: null, share_of_this: null, share_of_other: null },
      ]);

      const csv = (await readReport(call, audience, '?format=csv')).text.split('\r\n');
      expect(csv).toContain('summary,floor,Counts below 10 are hidden.,10,,,,');
      expect(csv).toContain(`attribute,${attributes[1]},attribute,,,,,`);
      expect(csv).toContain('event,,small,,,,,');
      expect(csv).toContain(`overlap,${near},audience,,,,,`);

      const hidden = composition.parse((await readReport(call, small)).json);
      expect(hidden).toMatchObject({
        unique_devices: 9,
        matched_devices: null,
        match_rate: null,
        marketplace_devices: null,
      });
      for (const { devices: count, ...rest } of [...hidden.attributes, ...hidden.events, ...hidden.overlaps])
        expect([count, ...Object.values(rest).filter((value) => value === 0)]).toEqual([null]);
      expect((await scene.audiences.findOne({ _id: small }))!.matchedDevices).toBe(9);
      expect((await call('GET', `${AUDIENCE}/${small}`)).json.matched_devices).toBe(0);
      expect((await call('GET', `${AUDIENCE}/${audience}`)).json.matched_devices).toBe(12);
      expect((await owner.call('GET', `${AUDIENCE}/${small}`)).json.matched_devices).toBe(9);
    } finally {
      await second.service.stop();
    }
  });
});

describe('as CSV', () => {
  it('by Accept or by parameter; a file whose names cannot be taken for formulas', async () => {
    const owner = await api.partner();
    await scene.attribute(owner, devices(12_000, 12_010), '=cmd|"/C calc"!A1\nnext, line');
    const audience = await scene.audience(
      owner,
      { rows: { '@event': devices(12_000, 12_010) } },
      { name: '+1' },
    );
    const json = await readReport(owner.call, audience);
    const csv = await readReport(owner.call, audience, '', { accept: 'text/csv' });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('content-disposition')).toBe(
      `attachment; filename="audience-${audience}-composition.csv"`,
    );
    expect(csv.headers.get('vary')).toMatch(/accept/i);
    expect(csv.text).toContain(`"'=cmd|""/C calc""!A1\nnext, line",10,1,`);
    expect(csv.text).toContain("summary,audience,'+1,,,,,\r\n");
    expect(csv.text).toContain("event,,'@event,10,,,10,\r\n");
    expect((await readReport(owner.call, audience, '?format=csv')).text).toBe(csv.text);
    const both = await readReport(owner.call, audience, '?format=json', { accept: 'text/csv' });
    expect(both.text).toBe(json.text);
  });
});
