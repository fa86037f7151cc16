/** Which parts of a composition report each caller sees, and in which format. */
import { Binary } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { packNumbers } from '../../pipeline/formats/number-table.ts';
import type { CompositionDocument } from '../../schemas/composition-documents.ts';
import { collections } from '../../schemas/documents.ts';
import { composition, overlapRow } from '../../schemas/http-composition.ts';
import { compositionOf, devices, readReport, secondApi, useComposition } from './composition-scene.ts';
import { AUDIENCE, type Call } from './support.ts';

const { api, partner, scene, get } = await useComposition();

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
      return overlaps.map(({ audience_id }) => audience_id);
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
    for (const query of [
      '?formt=csv',
      '?format=xml',
      '?previous=yes',
      '?format=csv&format=json',
      '?attributes=mine',
    ])
      expect([query, (await get(audience, query)).status]).toEqual([query, 422]);
    expect((await partner.call('POST', `${compositionOf(audience)}?format=csv`)).status).toBe(422);
  });
});

describe('public and private attributes', () => {
  const ATTRIBUTE = '/v1/marketplace/attribute';

  it('a private one is in the reports of its owner alone, from the moment that it becomes one', async () => {
    const [owner, other] = [await api.partner(), await api.partner()];
    const red = { 'x-user-token': await api.token(owner.id, 'red') };
    const held = devices(14_000, 14_020);
    const open = await scene.attribute(owner, held, 'Open');
    const secret = await scene.attribute(owner, held, 'Secret');
    const foreign = await scene.attribute(other, held, 'Foreign');
    await scene.attribute(other, devices(14_500, 14_501), 'Nobody here has it');
    const setVisibility = (id: number, visibility: string) =>
      owner.call('PATCH', `${ATTRIBUTE}/${id}`, { body: { visibility } });
    expect((await setVisibility(secret, 'private')).status).toBe(204);
    const rows = { a: held };
    const mine = await scene.audience(owner, { rows }, { headers: red });
    const theirs = await scene.audience(other, { rows });
    const read = async (call: Call, audience: number, query = '', headers = {}) => {
      const report = composition.parse((await readReport(call, audience, query, headers)).json);
      expect(report).toMatchObject({ matched_devices: 20 });
      return report.attributes.map((row) => [row.attribute_id, row.owner, row.own, row.visibility]);
    };
    const rowOf = (id: number, own: boolean, visibility = 'public') => [id, 'test', own, visibility];
    const ofOwner = [rowOf(open, true), rowOf(secret, true, 'private'), rowOf(foreign, false)];
    expect(await read(owner.call, mine)).toEqual(ofOwner);
    expect(await read(owner.call, mine, '?attributes=own')).toEqual(ofOwner.slice(0, 2));
    expect(await read(owner.call, mine, '', red)).toEqual([rowOf(open, true), rowOf(foreign, false)]);
    expect(await read(owner.call, mine, '?attributes=own', red)).toEqual([rowOf(open, true)]);
    expect(await read(other.call, theirs)).toEqual([rowOf(open, false), rowOf(foreign, true)]);
    const csv = (await readReport(owner.call, mine, '?format=csv&attributes=own', red)).text;
    const lines = csv.split('\r\n').filter((line) => line.startsWith('attribute,'));
    expect(lines).toEqual([expect.stringMatching(`^attribute,${open},Open,test,public,20,1,`)]);

    // A report computed before no longer shows it, not even as the previous report.
    expect((await setVisibility(open, 'private')).status).toBe(204);
    expect(await read(other.call, theirs)).toEqual([rowOf(foreign, true)]);
    const giveBack = await scene.withhold(theirs);
    await other.call('POST', compositionOf(theirs));
    const during = await other.call('GET', `${compositionOf(theirs)}?previous=true`);
    expect(during.status).toBe(202);
    const previous = composition.parse(during.json.previous);
    expect(previous.attributes.map((row) => row.attribute_id)).toEqual([foreign]);
    await giveBack();
    expect(await read(other.call, theirs)).toEqual([rowOf(foreign, true)]);
    expect(await read(owner.call, mine, '', red)).toEqual([rowOf(foreign, false)]);
    await setVisibility(secret, 'public');
    await other.call('POST', compositionOf(theirs));
    expect(await read(other.call, theirs)).toEqual([rowOf(secret, false), rowOf(foreign, true)]);
  });
});

describe('overlaps', () => {
  it('come most devices first, in pages; those without a device in common are left out', async () => {
    const owner = await api.partner();
    const all = devices(15_000, 15_150);
    const audience = await scene.audience(owner, { rows: { a: all } });
    const others: number[] = [];
    for (let i = 0; i < 3; i++)
      others.push(await scene.audience(owner, { rows: { a: all.slice(i) } }, { name: `Other ${i}` }));
    await scene.audience(owner, { rows: { a: devices(15_900, 15_910) } }, { name: 'Apart' });
    const report = composition.parse((await readReport(owner.call, audience)).json);
    expect(report).toMatchObject({ overlap_count: 3, overlaps_complete: true });
    expect(report.overlaps.map(({ audience_id }) => audience_id)).toEqual(others);
    const list = async (query: string) => {
      const reply = await owner.call('GET', `${compositionOf(audience)}/overlaps${query}`);
      expect(reply.status).toBe(200);
      const next = /\?([^>]*)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
      return { overlaps: z.array(overlapRow).parse(reply.json), next: next && `?${next}` };
    };
    const first = await list('?limit=2');
    const second = await list(first.next!);
    expect([...first.overlaps, ...second.overlaps]).toEqual(report.overlaps);
    expect(second.next).toBeUndefined();
    expect((await owner.call('GET', `${compositionOf(audience)}/overlaps?limit=x`)).status).toBe(422);
  });

  it('of more than a hundred, the report has the largest', async () => {
    const owner = await api.partner();
    const audience = await scene.audience(owner, { rows: { a: devices(16_000, 16_200) } });
    await readReport(owner.call, audience);
    // As if 150 other audiences had been loaded before.
    const model = (await scene.audiences.findOne({ _id: audience }))!;
    const others = Array.from({ length: 150 }, (_, i) => 2_000_000 + i);
    const documents = others.map((_id) => ({ ...model, _id, segment: _id, name: `Other ${_id}` }));
    await scene.audiences.insertMany(documents);
    const table = packNumbers(others.map((id, i) => [id, model.generation, 500, 200 - i]));
    await api.db
      .collection<CompositionDocument>(collections.compositions)
      .updateOne({ _id: audience }, { $set: { 'report.others': new Binary(table) } });
    const report = composition.parse((await readReport(owner.call, audience)).json);
    expect(report.overlap_count).toBe(150);
    expect(report.overlaps.map(({ audience_id }) => audience_id)).toEqual(others.slice(0, 100));
    const all = await owner.call('GET', `${compositionOf(audience)}/overlaps?limit=1000`);
    expect(all.json.map((one: { audience_id: number }) => one.audience_id)).toEqual(others);
    const csv = (await readReport(owner.call, audience, '?format=csv')).text;
    expect(csv.match(/^overlap,/gm)).toHaveLength(150);
  });
});

describe('the privacy floor', () => {
  const FLOOR = 10;

  it('hides every count below it, in JSON, CSV and the audience’s record', async () => {
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
    await scene.audience(owner, { rows: { a: devices(10_018, 10_040) } });
    const far = await scene.audience(owner, { rows: { a: devices(10_000, 10_011) } });
    const small = await scene.audience(owner, { rows: { a: devices(10_000, 10_009) } });
    const second = await secondApi(api, owner.key, { HEADRACE_PRIVACY_FLOOR: String(FLOOR) });
    try {
      const { call } = second;
      const shown = composition.parse((await readReport(call, audience)).json);
      expect(shown).toMatchObject({ floor: FLOOR, unique_devices: 20, matched_devices: 12, match_rate: 0.6 });
      // Attributes below the floor are omitted, like attributes without any device: listing them would reveal that they have some.
      expect(shown.attributes.map(({ attribute_id, devices: count }) => [attribute_id, count])).toEqual([
        [attributes[0], 12],
        [attributes[4], 10],
      ]);
      expect(shown.events).toEqual([
        { event: 'big', devices: 15, rows: 15 },
        { event: 'small', devices: null, rows: null },
        { event: 'tiny', devices: null, rows: null },
      ]);
      expect(shown.overlaps.map(({ name: _, ...overlap }) => overlap)).toEqual([
        { audience_id: far, devices: 11, share_of_this: 0.55, share_of_other: 1 },
      ]);
      expect(shown.overlap_count).toBe(1);

      const csv = (await readReport(call, audience, '?format=csv')).text.split('\r\n');
      expect(csv).toContain('summary,floor,Counts below 10 are hidden.,,,10,,,,');
      expect(csv.filter((line) => line.startsWith('attribute,'))).toHaveLength(2);
      expect(csv).toContain('event,,small,,,,,,,');
      expect(csv.filter((line) => line.startsWith('overlap,'))).toHaveLength(1);

      const hidden = composition.parse((await readReport(call, small)).json);
      expect(hidden).toMatchObject({
        unique_devices: 9,
        matched_devices: null,
        match_rate: null,
        marketplace_devices: null,
        attributes: [],
        events: [{ event: 'a', devices: null, rows: null }],
        overlaps: [],
      });
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
    expect(csv.text).toContain(`"'=cmd|""/C calc""!A1, next line",test,public,10,1,`);
    expect(csv.text).toContain("summary,audience,'+1,,,,,,,\r\n");
    expect(csv.text).toContain("event,,'@event,,,10,,,10,\r\n");
    expect((await readReport(owner.call, audience, '?format=csv')).text).toBe(csv.text);
    const both = await readReport(owner.call, audience, '?format=json', { accept: 'text/csv' });
    expect(both.text).toBe(json.text);
  });
});
