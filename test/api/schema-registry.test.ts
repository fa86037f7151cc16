/** The read API of a Schema Registry, as its clients call it: paths, media types, error codes, all query parameters. */
import avro from 'avsc';
import { beforeAll, describe, expect, it } from 'vitest';
import { type MessageName, messages, topics, versionsOf } from '../../schemas/topics.ts';
import type { Reply } from './support.ts';
import { useApi } from './use-api.ts';

const TYPE = 'application/vnd.schemaregistry.v1+json';
const api = useApi();
let jobs: string;
beforeAll(async () => {
  jobs = `${api.config.topicPrefix}.jobs-value`;
});

const get = (path: string, accept?: string): Promise<Reply> =>
  api.anonymous('GET', path, accept ? { headers: { accept } } : {});
const names = Object.keys(messages) as MessageName[];

describe('subjects', () => {
  it('are named as the usual strategies name them: by topic, and by topic and record', async () => {
    const { topicPrefix } = api.config;
    const expected = Object.values(topics).flatMap(({ name, holds }) => [
      ...(holds.length === 1 ? [`${topicPrefix}.${name}-value`] : []),
      ...holds.map((message) => `${topicPrefix}.${name}-headrace.${message}`),
    ]);
    expect((await get('/subjects')).json).toEqual(expected);
  });

  it('give every schema, by version and by id, in a form that avsc reads', async () => {
    const seen = new Map<number, string>();
    for (const subject of (await get('/subjects')).json as string[]) {
      const versions = (await get(`/subjects/${subject}/versions`)).json as number[];
      expect(versions).toEqual(versions.map((_, before) => before + 1));
      for (const version of versions) {
        const path = `/subjects/${subject}/versions/${version}`;
        const found = (await get(path)).json;
        expect(found).toEqual({ subject, version, id: expect.any(Number), schema: expect.any(String) });
        expect((await get(`${path}/schema`)).json).toEqual(JSON.parse(found.schema));
        expect((await get(`${path}/referencedby`)).json).toEqual([]);
        expect((await get(`/schemas/ids/${found.id}`)).json).toEqual({ schema: found.schema });
        expect((await get(`/schemas/ids/${found.id}/schema`)).json).toEqual(JSON.parse(found.schema));
        expect((await get(`/schemas/ids/${found.id}/subjects`)).json).toContain(subject);
        expect((await get(`/schemas/ids/${found.id}/versions`)).json).toContainEqual({ subject, version });
        seen.set(found.id, found.schema);
      }
      const newest = (await get(`/subjects/${subject}/versions/${versions.length}`)).json;
      for (const latest of ['latest', '-1'])
        expect((await get(`/subjects/${subject}/versions/${latest}`)).json).toEqual(newest);
    }
    const declared = names.flatMap(versionsOf).map(({ id, schema }) => [id, JSON.stringify(schema)] as const);
    expect(seen).toEqual(new Map(declared));
    for (const schema of seen.values())
      expect(avro.Type.forSchema(JSON.parse(schema)).typeName).toBe('record');
  });
});

describe('settings', () => {
  it('say that schemas are Avro, compatible in both directions, and not to be changed here', async () => {
    expect((await get('/schemas/types')).json).toEqual(['AVRO']);
    for (const path of ['/config', `/config/${jobs}`])
      expect((await get(path)).json).toEqual({ compatibilityLevel: 'FULL_TRANSITIVE' });
    for (const path of ['/mode', `/mode/${jobs}`])
      expect((await get(path)).json).toEqual({ mode: 'READONLY' });
  });
});

describe('what clients send', () => {
  it('media types: its own unless another is asked for', async () => {
    const typeOf = async (accept?: string) => (await get('/subjects', accept)).headers.get('content-type');
    expect(await typeOf()).toContain(TYPE);
    expect(await typeOf(`${TYPE}, application/vnd.schemaregistry+json, application/json`)).toContain(TYPE);
    expect(await typeOf('application/json')).toMatch(/^application\/json/);
    expect(await typeOf('text/html')).toContain(TYPE);
  });

  it('a slash at the end, encoded names, credentials and any query parameter', async () => {
    const { json: subjects } = await get('/subjects');
    for (const path of [
      '/subjects/',
      '/subjects?deleted=false&offset=0&limit=-1',
      '/subjects?deleted=true&subjectPrefix=:*:',
      '/subjects?normalize=true&whatever=1',
    ])
      expect((await get(path)).json).toEqual(subjects);
    const path = `/subjects/${encodeURIComponent(jobs).replaceAll('.', '%2E')}/versions/latest`;
    expect((await get(`${path}?deleted=false&format=resolved`)).json.subject).toBe(jobs);
    const basic = { headers: { authorization: `Basic ${btoa('user:password')}` } };
    expect((await api.anonymous('GET', '/subjects', basic)).status).toBe(200);
    expect((await get(`/schemas/ids/1?subject=${jobs}&fetchMaxId=false`)).json).toEqual({
      schema: JSON.stringify(messages.AcceptedJob.schema),
    });
  });

  it('parameters that are understood', async () => {
    const { json: subjects } = await get('/subjects');
    const start = `${api.config.topicPrefix}.devices`;
    const ofDevices = subjects.filter((subject: string) => subject.startsWith(start));
    expect(ofDevices).toHaveLength(2);
    for (const prefix of [start, `:.:${start}`])
      expect((await get(`/subjects?subjectPrefix=${prefix}`)).json).toEqual(ofDevices);
    expect((await get('/subjects?offset=1&limit=2')).json).toEqual(subjects.slice(1, 3));
    expect((await get('/subjects?deletedOnly=true')).json).toEqual([]);
    const ids = names.flatMap(versionsOf).map(({ id }) => id);
    expect((await get('/schemas/ids/1?fetchMaxId=true')).json.maxId).toBe(Math.max(...ids));
  });
});

describe('errors', () => {
  it.each([
    ['/subjects/x/versions', 404, 40401, "Subject 'x' not found."],
    ['/subjects/x/versions/latest', 404, 40401, "Subject 'x' not found."],
    ['/config/x', 404, 40401, "Subject 'x' not found."],
    ['/mode/x', 404, 40401, "Subject 'x' not found."],
    ['/subjects/$jobs/versions/9', 404, 40402, 'Version 9 not found.'],
    ['/schemas/ids/99', 404, 40403, 'Schema 99 not found'],
    ['/schemas/ids/x/versions', 404, 40403, 'Schema x not found'],
    ['/subjects/$jobs/versions/0', 422, 42202, expect.stringContaining("'0' is not a valid version")],
    ['/subjects/$jobs/versions/2147483648', 422, 42202, expect.any(String)],
    ['/subjects/x/unknown', 404, 404, expect.any(String)],
    ['/associations/resources/-/topic', 404, 404, expect.any(String)],
  ])('%s: %i %i', async (path, status, error_code, message) => {
    const reply = await get(path.replace('$jobs', jobs));
    expect([reply.status, reply.json]).toEqual([status, { error_code, message }]);
    expect(reply.headers.get('content-type')).toContain(TYPE);
  });

  it.each([
    ['POST', '/subjects/$jobs/versions'],
    ['POST', '/subjects/new-value/versions?normalize=true'],
    ['POST', '/compatibility/subjects/$jobs/versions/latest'],
    ['PUT', '/config'],
    ['PUT', '/config/$jobs'],
    ['PUT', '/mode'],
    ['DELETE', '/subjects/$jobs'],
    ['DELETE', '/subjects/$jobs/versions/1?permanent=true'],
  ])('%s %s is refused: the registry is read-only', async (method, path) => {
    const reply = await api.anonymous(method, path.replace('$jobs', jobs), {
      headers: { 'content-type': TYPE },
      raw: JSON.stringify({ schema: '"string"' }),
    });
    expect([reply.status, reply.json]).toEqual([
      422,
      { error_code: 42205, message: expect.stringContaining('read-only') },
    ]);
    expect(reply.headers.get('content-type')).toContain(TYPE);
  });
});
