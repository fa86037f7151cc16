/** Lists: exactly the requested items, in consistent pages, from an index. */
import { describe, expect, it } from 'vitest';
import { AUDIENCE, IMPORT, listFiles, pagesOf, startApiOnOwnData, type TestPartner } from './support.ts';
import { useApi, usePartner } from './use-api.ts';

const api = useApi(startApiOnOwnData);
const partner = usePartner(api);

const get = (path: string, by = partner) => by.call('GET', path);
const audience = (name: string, by = partner) => by.createAudience({ name });
const importOf = (file_path: string, by = partner) => by.queueImport(file_path);
const end = (id: number, status: 2 | 3) =>
  api.jobs.updateOne({ _id: id }, { $set: { phase: 'ended', status } });
const outcome = (id: number, value: 2 | 3) =>
  api.audiences.updateOne({ _id: id }, { $set: { outcome: value } });
const idsOf = (reply: { json: { audience_id?: number; import_log_id?: number }[] }) =>
  reply.json.map(({ audience_id, import_log_id }) => audience_id ?? import_log_id);

/** Follows the Link headers to the last page. */
async function allPages(path: string, by: TestPartner): Promise<{ ids: unknown[]; pages: number }> {
  const pages = await pagesOf(by.call, path);
  return { ids: pages.flatMap(idsOf), pages: pages.length };
}

describe('audiences', () => {
  it('by segment id: one or none, and another’s is none', async () => {
    const id = await audience('Segment');
    const { default_warehouse_segment_id: segment } = (await get(`${AUDIENCE}/${id}`)).json;
    const found = await get(`${AUDIENCE}?segment_id=${segment}`);
    expect(found.json).toEqual([expect.objectContaining({ audience_id: id, name: 'Segment' })]);
    expect((await get(`${AUDIENCE}?segment_id=${segment + 1_000}`)).json).toEqual([]);
    const stranger = await api.partner();
    expect((await get(`${AUDIENCE}?segment_id=${segment}`, stranger)).json).toEqual([]);
    const token = await api.token(partner.id, 'another');
    const asCustomer = { headers: { 'x-user-token': token } };
    expect((await partner.call('GET', `${AUDIENCE}?segment_id=${segment}`, asCustomer)).json).toEqual([]);
  });

  it('by part of the name in any case, and nothing of the text is a pattern', async () => {
    const by = await api.partner();
    const hostile = ['a.b', 'a+b', '(a|b)', '[a]', 'a\\b', '^a$', '{1}', '$where', '"><img src=x>', 'Été'];
    const ids = new Map<string, number>();
    for (const name of [...hostile, 'axb']) ids.set(name, await audience(name, by));
    const search = async (text: string) =>
      idsOf(await get(`${AUDIENCE}?search=${encodeURIComponent(text)}`, by));
    for (const name of hostile) expect([name, await search(name)]).toEqual([name, [ids.get(name)]]);
    expect(await search('XB')).toEqual([ids.get('axb')]);
    expect(await search('éTÉ')).toEqual([ids.get('Été')]);
    expect(await search('.*')).toEqual([]);
  });

  it('by the status that the record shows, also while loads are open', async () => {
    const by = await api.partner();
    const [pending, running, done, failed] = [
      await audience('pending', by),
      await audience('running', by),
      await audience('done', by),
      await audience('failed', by),
    ];
    await listFiles(api, running!, []);
    await end(done!, 2);
    await end(failed!, 3);
    await outcome(failed!, 3);
    const failedBefore = await audience('failed before, loads again', by);
    await outcome(failedBefore, 3);
    const cleared = await audience('cleared', by);
    await by.call('PUT', `${AUDIENCE}/${cleared}`);
    for (const [status, ids] of [
      [0, [failedBefore, pending]],
      [1, [running]],
      [2, [cleared, done]],
      [3, [failed]],
    ] as const) {
      const reply = await get(`${AUDIENCE}?status=${status}`, by);
      expect([status, idsOf(reply)]).toEqual([status, ids]);
      expect(reply.json.every((record: { status: number }) => record.status === status)).toBe(true);
      expect(idsOf(await get(`${AUDIENCE}?status=${status}&limit=10`, by))).toEqual(ids);
    }
  });

  it('in pages: the filters stay in the link, nothing is left out and nothing comes twice', async () => {
    const by = await api.partner();
    const wanted: number[] = [];
    for (let i = 0; i < 12; i++) {
      const id = await audience(i % 3 === 0 ? `Other ${i}` : `Summer & sun ${i}`, by);
      if (i % 2 === 0) await end(id, 2);
      if (i % 3 !== 0 && i % 2 === 0) wanted.unshift(id);
    }
    const query = `status=2&search=${encodeURIComponent('SUMMER & SUN')}`;
    expect(await allPages(`${AUDIENCE}?${query}&limit=2`, by)).toEqual({ ids: wanted, pages: 2 });
    expect(await allPages(`${AUDIENCE}?${query}&limit=${wanted.length}`, by)).toEqual({
      ids: wanted,
      pages: 1,
    });
    expect(idsOf(await get(`${AUDIENCE}?${query}`, by))).toEqual(wanted);
  });
});

describe('import logs', () => {
  it('beyond the last hundred, by status and by path; without parameters as before', async () => {
    const by = await api.partner();
    const first = await importOf('Day=1/Devices.csv', by);
    const template = (await api.jobs.findOne({ _id: first }))!;
    const copies = Array.from({ length: 130 }, (_, i) => ({
      ...template,
      _id: 2_000_000 + i,
      requestToken: `copy-${i}`,
      filePath: `day=${i}/more.csv`,
      phase: 'ended' as const,
      status: i % 10 === 0 ? (3 as const) : (2 as const),
    }));
    await api.jobs.insertMany(copies);
    const newestFirst = copies.map(({ _id }) => _id).reverse();
    const plain = await get(IMPORT, by);
    expect(idsOf(plain)).toEqual(newestFirst.slice(0, 100));
    expect(plain.headers.get('link')).toBe(null);
    expect(await allPages(`${IMPORT}?limit=50`, by)).toEqual({ ids: [...newestFirst, first], pages: 3 });
    const failed = copies.filter(({ status }) => status === 3).map(({ _id }) => _id);
    expect(await allPages(`${IMPORT}?status=3&limit=4`, by)).toEqual({ ids: failed.reverse(), pages: 4 });
    expect(idsOf(await get(`${IMPORT}?status=0`, by))).toEqual([first]);
    expect(idsOf(await get(`${IMPORT}?search=DAY%3D1%2Fdev`, by))).toEqual([first]);
    expect(idsOf(await get(`${IMPORT}?search=day.1`, by))).toEqual([]);
    await api.jobs.deleteMany({ _id: { $gte: 2_000_000 } });
  });

  it('shows the same record in every way, no audience, and none that was withdrawn', async () => {
    const by = await api.partner();
    await audience('n', by);
    const [kept, withdrawn] = [await importOf('kept.csv', by), await importOf('withdrawn.csv', by)];
    await api.jobs.updateOne({ _id: withdrawn }, { $set: { phase: 'withdrawn' } });
    const one = (await get(`${IMPORT}/${kept}`, by)).json;
    expect((await get(`${IMPORT}/${withdrawn}`, by)).status).toBe(404);
    for (const query of ['', '?limit=5', '?status=0', '?search=.csv'])
      expect((await get(IMPORT + query, by)).json).toEqual([one]);
  });
});

it.each([
  [`${AUDIENCE}?limit=0`, 'limit'],
  [`${AUDIENCE}?limit=1001`, 'limit'],
  [`${AUDIENCE}?limit=1&limit=2`, 'limit'],
  [`${AUDIENCE}?limit[$gt]=1`, 'limit[$gt]'],
  [`${AUDIENCE}?cursor=-1`, 'cursor'],
  [`${AUDIENCE}?status=4`, 'status'],
  [`${AUDIENCE}?status=`, 'status'],
  [`${AUDIENCE}?status=1&status=2`, 'status'],
  [`${AUDIENCE}?segment_id=-1`, 'segment_id'],
  [`${AUDIENCE}?segment_id=1e7`, 'segment_id'],
  [`${AUDIENCE}?search=`, 'search'],
  [`${AUDIENCE}?search=${'a'.repeat(257)}`, 'search'],
  [`${AUDIENCE}?search=a%00b`, 'search'],
  [`${IMPORT}?status=running`, 'status'],
  [`${IMPORT}?limit=0`, 'limit'],
  [`${IMPORT}?cursor=x`, 'cursor'],
  [`${IMPORT}?segment_id=1`, 'segment_id'],
  [`${IMPORT}?sort=name`, 'sort'],
])('422 names the parameter: %s', async (path, name) => {
  const reply = await get(path);
  expect([reply.status, reply.json.code]).toEqual([422, 'invalid_query']);
  expect(reply.json.errors[0].path).toBe(name);
});

it('a rare status is found without reading everything that the partner has', async () => {
  const by = await api.partner();
  const first = (await api.jobs.findOne({ _id: await importOf('a.csv', by) }))!;
  const many = Array.from({ length: 2_000 }, (_, i) => ({
    ...first,
    _id: 3_000_000 + i,
    requestToken: `many-${i}`,
    phase: 'ended' as const,
    status: i === 5 ? (3 as const) : (2 as const),
  }));
  await api.jobs.insertMany(many);
  await api.db.command({ profile: 2 });
  expect(idsOf(await get(`${IMPORT}?status=3`, by))).toEqual([3_000_005]);
  expect(idsOf(await get(`${IMPORT}?status=0`, by))).toEqual([first._id]);
  await api.db.command({ profile: 0 });
  await api.jobs.deleteMany({ _id: { $gte: 3_000_000 } });
  const queries = await api.db
    .collection('system.profile')
    .find({ ns: /\.jobs$/, 'command.find': 'jobs', 'command.filter.partner': by.id })
    .toArray();
  expect(queries.length).toBe(2);
  for (const { docsExamined, keysExamined } of queries) {
    expect(docsExamined).toBeLessThan(20);
    expect(keysExamined).toBeLessThan(20);
  }
});
