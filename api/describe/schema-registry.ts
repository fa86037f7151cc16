/**
 * The topics' Avro schemas through the read API of a Schema Registry, so that standard clients decode our topics. Every message type
 * of a topic has a subject `<topic>-<record>` (TopicRecordNameStrategy); the only type of a topic also has `<topic>-value`.
 */
import type { Config } from '../../schemas/config.ts';
import { compatibility, type MessageName, topics, versionsOf } from '../../schemas/topics.ts';
import type { Context, Handler } from '../http/context.ts';
import {
  invalidVersion,
  REGISTRY_TYPE,
  schemaNotFound,
  subjectNotFound,
  versionNotFound,
} from '../http/registry-problem.ts';

export interface Registered {
  subject: string;
  version: number;
  id: number;
  schema: string;
}

/** Every version of every subject. */
export function registered({ topicPrefix }: Pick<Config, 'topicPrefix'>): Registered[] {
  const versions = (subject: string, name: MessageName): Registered[] =>
    versionsOf(name).map(({ id, schema }, before) => ({
      subject,
      version: before + 1,
      id,
      schema: JSON.stringify(schema),
    }));
  return Object.values(topics).flatMap(({ name, holds }) => {
    const topic = `${topicPrefix}.${name}`;
    const alone = holds.length === 1 ? versions(`${topic}-value`, holds[0]) : [];
    return [...alone, ...holds.flatMap((each) => versions(`${topic}-headrace.${each}`, each))];
  });
}

const types = [REGISTRY_TYPE, 'application/vnd.schemaregistry+json', 'application/json'];

const answer =
  (read: (ctx: Context) => unknown): Handler =>
  (ctx) => {
    const value = read(ctx);
    ctx.type = ctx.accepts(types) || REGISTRY_TYPE;
    ctx.body = JSON.stringify(value);
  };

const parameter = ({ query }: Context, name: string): string | undefined => [query[name]].flat()[0];

/** The part that `offset` and `limit` ask for; clients send a limit of -1 for all. Nothing here was ever deleted. */
function page<T>(ctx: Context, all: T[]): T[] {
  if (parameter(ctx, 'deletedOnly') === 'true') return [];
  const offset = Math.max(0, Number(parameter(ctx, 'offset')) || 0);
  const limit = Number(parameter(ctx, 'limit') ?? -1);
  return all.slice(offset, limit >= 0 ? offset + limit : undefined);
}

export function createSchemaRegistry(config: Pick<Config, 'topicPrefix'>): { routes: [string, Handler][] } {
  const all = registered(config);
  const subjects = [...new Set(all.map(({ subject }) => subject))];
  const maxId = Math.max(...all.map(({ id }) => id));

  const ofSubject = (ctx: Context): Registered[] => {
    const subject = ctx.params.subject!;
    const found = all.filter((each) => each.subject === subject);
    if (found.length === 0) throw subjectNotFound(subject);
    return found;
  };
  const ofVersion = (ctx: Context): Registered => {
    const versions = ofSubject(ctx);
    const wanted = ctx.params.version!;
    if (wanted === 'latest' || wanted === '-1') return versions.at(-1)!;
    if (!/^[1-9]\d{0,9}$/.test(wanted) || Number(wanted) > 2 ** 31 - 1) throw invalidVersion(wanted);
    const found = versions[Number(wanted) - 1];
    if (!found) throw versionNotFound(Number(wanted));
    return found;
  };
  const ofId = (ctx: Context): Registered[] => {
    const found = all.filter(({ id }) => String(id) === ctx.params.id);
    if (found.length === 0) throw schemaNotFound(ctx.params.id!);
    return found;
  };
  const listSubjects = (ctx: Context) => {
    // Clients write it behind the name of a context, of which there is one.
    const prefix = (parameter(ctx, 'subjectPrefix') ?? '').replace(/^:[.*]?:/, '');
    const matching = subjects.filter((subject) => subject.startsWith(prefix));
    return page(ctx, matching);
  };
  const getSchema = (ctx: Context) => {
    const { schema } = ofId(ctx)[0]!;
    return parameter(ctx, 'fetchMaxId') === 'true' ? { schema, maxId } : { schema };
  };
  const places = (ctx: Context) => ofId(ctx).map(({ subject, version }) => ({ subject, version }));
  const level = { compatibilityLevel: compatibility };
  const mode = { mode: 'READONLY' };
  /** The same for every subject and version that there is. */
  const sameForAll = (find: (ctx: Context) => unknown, value: unknown) => (ctx: Context) => {
    find(ctx);
    return value;
  };

  const operations: [string, (ctx: Context) => unknown][] = [
    ['/subjects', listSubjects],
    [
      '/subjects/:subject/versions',
      (ctx) =>
        page(
          ctx,
          ofSubject(ctx).map(({ version }) => version),
        ),
    ],
    ['/subjects/:subject/versions/:version', ofVersion],
    ['/subjects/:subject/versions/:version/schema', (ctx) => JSON.parse(ofVersion(ctx).schema)],
    ['/subjects/:subject/versions/:version/referencedby', sameForAll(ofVersion, [])],
    ['/schemas/ids/:id', getSchema],
    ['/schemas/ids/:id/schema', (ctx) => JSON.parse(ofId(ctx)[0]!.schema)],
    [
      '/schemas/ids/:id/subjects',
      (ctx) =>
        page(
          ctx,
          places(ctx).map(({ subject }) => subject),
        ),
    ],
    ['/schemas/ids/:id/versions', (ctx) => page(ctx, places(ctx))],
    ['/schemas/types', () => ['AVRO']],
    ['/config', () => level],
    ['/config/:subject', sameForAll(ofSubject, level)],
    ['/mode', () => mode],
    ['/mode/:subject', sameForAll(ofSubject, mode)],
  ];
  return { routes: operations.map(([path, read]) => [path, answer(read)]) };
}
