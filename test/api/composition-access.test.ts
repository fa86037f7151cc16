/** What of a composition report is shown to whom, and in which form. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composition } from '../../schemas/http-composition.ts';
import { compositionOf, createScene, devices, readReport, secondApi } from './composition-scene.ts';
import { type Api, AUDIENCE, startApiProcess, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
let scene: ReturnType<typeof createScene>;
beforeAll(async () => {
  api = await startApiProcess();
  partner = await api.partner();
  scene = createScene(api);
});
afterAll(() => api?.stop());

const get = (audience: number, query = '') => partner.call('GET', compositionOf(audience) + query);

describe('who sees what', () => {
  it('a customer sees its own overlaps; another’s audience is not found', async () => {
    const token = (customer: string) => api.token(partner.id, customer);
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
    const second = await secondApi(api, owner.key, { HEADRACE_PRIVACY_FLOOR: String(FLOOR) });
    try {
      const { call } = second;
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
    await scene.attribute(owner, devices(12_000, 12_010), '=cmd|"/C calc"!A1, next line');
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
    expect(csv.text).toContain(`"'=cmd|""/C calc""!A1, next line",10,1,`);
    expect(csv.text).toContain("summary,audience,'+1,,,,,\r\n");
    expect(csv.text).toContain("event,,'@event,10,,,10,\r\n");
    expect((await readReport(owner.call, audience, '?format=csv')).text).toBe(csv.text);
    const both = await readReport(owner.call, audience, '?format=json', { accept: 'text/csv' });
    expect(both.text).toBe(json.text);
  });
});
