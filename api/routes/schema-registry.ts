/**
 * The topics' Avro schemas through the read-only part of the Schema Registry's REST API, so that standard tools decode our topics.
 * A topic with several message types has a subject for each (`<topic>-<message>`); a topic with one type has `<topic>-value`.
 */
import type { Config } from '../../schemas/config.ts';
import { type MessageName, messages, topics, versionsOf } from '../../schemas/topics.ts';
import type { Handler } from '../context.ts';
import { send } from '../idempotent.ts';
import { notFound } from '../problem.ts';

export function createSchemaRegistry(config: Pick<Config, 'topicPrefix'>) {
  const subjects = new Map<string, MessageName>();
  for (const { name, holds } of Object.values(topics))
    for (const message of holds as readonly MessageName[])
      subjects.set(`${config.topicPrefix}.${name}-${holds.length === 1 ? 'value' : message}`, message);
  const byId = new Map(
    (Object.keys(messages) as MessageName[])
      .flatMap(versionsOf)
      .map(({ id, schema }) => [String(id), JSON.stringify(schema)]),
  );

  const json = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });
  const messageOf = (subject: string | undefined): MessageName => {
    const message = subjects.get(subject ?? '');
    if (!message) throw notFound();
    return message;
  };

  const listSubjects: Handler = (ctx) => send(ctx, json([...subjects.keys()]));
  const listVersions: Handler = (ctx) => {
    send(ctx, json(versionsOf(messageOf(ctx.params.subject)).map((_, i) => i + 1)));
  };
  const getVersion: Handler = (ctx) => {
    const versions = versionsOf(messageOf(ctx.params.subject));
    const version = ctx.params.version === 'latest' ? versions.length : Number(ctx.params.version);
    const found = versions[version - 1];
    if (!found) throw notFound();
    const { id, schema } = found;
    send(ctx, json({ subject: ctx.params.subject, version, id, schema: JSON.stringify(schema) }));
  };
  const getSchema: Handler = (ctx) => {
    const schema = byId.get(ctx.params.id ?? '');
    if (schema === undefined) throw notFound();
    send(ctx, json({ schema }));
  };
  return { listSubjects, listVersions, getVersion, getSchema };
}
