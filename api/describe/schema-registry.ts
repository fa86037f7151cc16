/**
 * The topics' Avro schemas through the read API of a Schema Registry, so that standard clients decode our topics. Every message type
 * of a topic has a subject `<topic>-<record>` (TopicRecordNameStrategy); the only type of a topic also has `<topic>-value`.
 */
import { z } from 'zod';
import type { Config } from '../../schemas/config.ts';
import { compatibility, type MessageName, topics, versionsOf } from '../../schemas/topics.ts';
import type { Context } from '../http/context.ts';
import { type Operation, read } from '../http/operation.ts';
import {
  invalidVersion,
  REGISTRY_TYPE,
  RegistryProblem,
  schemaNotFound,
  subjectNotFound,
  versionNotFound,
} from '../http/registry-problem.ts';
import { json, type Responses } from '../http/responses.ts';
import { parametersIn } from './openapi.ts';

interface Registered {
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

const parameter = ({ query }: Context, name: string): string | undefined => [query[name]].flat()[0];

/** Applies `offset` and `limit`; clients send a limit of -1 for all. Nothing is ever deleted, so `deletedOnly` finds nothing. */
function page<T>(ctx: Context, all: T[]): T[] {
  if (parameter(ctx, 'deletedOnly') === 'true') return [];
  const offset = Math.max(0, Number(parameter(ctx, 'offset')) || 0);
  const limit = Number(parameter(ctx, 'limit') ?? -1);
  return all.slice(offset, limit >= 0 ? offset + limit : undefined);
}

const levelSchema = z.strictObject({ compatibilityLevel: z.string() });
const modeSchema = z.strictObject({ mode: z.string() });
const place = z.strictObject({ subject: z.string(), version: z.int() });
const versionSchema = place.extend({ id: z.int(), schema: z.string() });
const byId = z.strictObject({ schema: z.string(), maxId: z.int().optional() });
const avro = z.record(z.string(), z.unknown());

const errors = [
  subjectNotFound('x'),
  versionNotFound(9),
  schemaNotFound('99'),
  invalidVersion('first'),
  new RegistryProblem(50001, 'Internal error'),
  new RegistryProblem(50301, 'A backend did not respond in time. Retry shortly.'),
];
/** The causes that an operation can return, by the parameters in its path. */
const causes: Record<number, string | undefined> = {
  40401: 'subject',
  40402: 'version',
  40403: 'id',
  42202: 'version',
};

function errorResponses(parameters: string[]): Responses {
  const possible = errors.filter(({ errorCode }) => {
    const cause = causes[errorCode];
    return cause === undefined || parameters.includes(cause);
  });
  const statuses = [...new Set(possible.map(({ status }) => status))];
  return Object.fromEntries(
    statuses.map((status) => {
      const some = possible.filter((each) => each.status === status);
      const examples = some.map(({ errorCode, message }): [string, { summary: string; value: object }] => [
        String(errorCode),
        { summary: message, value: { error_code: errorCode, message } },
      ]);
      const schema = z.strictObject({ error_code: z.int(), message: z.string() });
      const description = some.map(({ errorCode }) => `\`${errorCode}\``).join(', ');
      return [
        status,
        json(schema, description, { type: REGISTRY_TYPE, examples: Object.fromEntries(examples) }),
      ];
    }),
  );
}

export function registryOperations(config: Pick<Config, 'topicPrefix'>): Operation[] {
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
    // Clients prefix it with the name of the context; there is only one.
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
  /** Returns the same value for every known subject and version. */
  const sameForAll = (find: (ctx: Context) => unknown, value: unknown) => (ctx: Context) => {
    find(ctx);
    return value;
  };

  const samples: Record<string, string> = {
    subject: `${config.topicPrefix}.jobs-value`,
    version: 'latest',
    id: '1',
  };
  const operation = (
    path: string,
    operationId: string,
    summary: string,
    schema: z.ZodType,
    find: (ctx: Context) => unknown,
  ): Operation => {
    const names = parametersIn(path);
    return read({
      tag: 'Schema registry',
      access: 'public',
      path,
      operationId,
      summary,
      params: z.object(
        Object.fromEntries(names.map((name) => [name, z.string().min(1).meta({ example: samples[name] })])),
      ),
      responses: { 200: json(schema, summary, { type: REGISTRY_TYPE }) },
      errors: errorResponses(names),
      handle(ctx) {
        const value = find(ctx);
        ctx.type = ctx.accepts(types) || REGISTRY_TYPE;
        ctx.body = JSON.stringify(value);
      },
    });
  };

  const subject = '/subjects/:subject/versions';
  const version = `${subject}/:version`;
  const id = '/schemas/ids/:id';
  const texts = z.array(z.string());
  const numbers = z.array(z.int());
  const versionsOfSubject = (ctx: Context) => ofSubject(ctx).map((each) => each.version);
  const subjectsOfId = (ctx: Context) => ofId(ctx).map((each) => each.subject);
  return [
    operation('/subjects', 'listSubjects', 'List subjects', texts, listSubjects),
    operation(subject, 'listSchemaVersions', 'List versions of a subject', numbers, (ctx) =>
      page(ctx, versionsOfSubject(ctx)),
    ),
    operation(version, 'getSchemaVersion', 'Get a version of a subject', versionSchema, ofVersion),
    operation(`${version}/schema`, 'getVersionSchema', 'Get only its schema', avro, (ctx) =>
      JSON.parse(ofVersion(ctx).schema),
    ),
    operation(
      `${version}/referencedby`,
      'listReferences',
      'List schemas that refer to it: none',
      numbers,
      sameForAll(ofVersion, []),
    ),
    operation(id, 'getSchemaById', 'Get a schema by its id', byId, getSchema),
    operation(`${id}/schema`, 'getSchemaTextById', 'Get only the schema', avro, (ctx) =>
      JSON.parse(ofId(ctx)[0]!.schema),
    ),
    operation(`${id}/subjects`, 'listSubjectsOfSchema', 'List subjects of a schema', texts, (ctx) =>
      page(ctx, subjectsOfId(ctx)),
    ),
    operation(`${id}/versions`, 'listVersionsOfSchema', 'List versions of a schema', z.array(place), (ctx) =>
      page(ctx, places(ctx)),
    ),
    operation('/schemas/types', 'listSchemaTypes', 'List types of schemas', texts, () => ['AVRO']),
    operation('/config', 'getCompatibility', 'Get the compatibility level', levelSchema, () => level),
    operation(
      '/config/:subject',
      'getSubjectCompatibility',
      'Get the compatibility of a subject',
      levelSchema,
      sameForAll(ofSubject, level),
    ),
    operation('/mode', 'getMode', 'Get the mode', modeSchema, () => mode),
    operation(
      '/mode/:subject',
      'getSubjectMode',
      'Get the mode of a subject',
      modeSchema,
      sameForAll(ofSubject, mode),
    ),
  ];
}
