/** The AsyncAPI document and its page: valid, complete, and equal to the topics' contents. */
import { Parser } from '@asyncapi/parser';
import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../api/describe/asyncapi/avro-fields.ts';
import { createAsyncApi } from '../../api/describe/asyncapi/document.ts';
import { examples, readable } from '../../api/describe/asyncapi/examples.ts';
import { html } from '../../api/describe/asyncapi/html.ts';
import { pretty, topicsPage } from '../../api/describe/asyncapi/topics-page.ts';
import { decode, encode } from '../../pipeline/wire/codec.ts';
import { parseConfig } from '../../schemas/config.ts';
import { type MessageName, messages, type TopicKey, topics } from '../../schemas/topics.ts';
import { readConfigFile } from '../support/env-file.ts';

const config = parseConfig(readConfigFile('reference'));
const document = createAsyncApi(config);
const page = topicsPage(config);
const names = Object.keys(messages) as MessageName[];
const keys = Object.keys(topics) as TopicKey[];

describe('the AsyncAPI document', () => {
  it.each(['reference', 'minimal.env'] as const)('is valid by the parser of AsyncAPI: %s', async (file) => {
    const text = JSON.stringify(createAsyncApi(parseConfig(readConfigFile(file))));
    const { document: parsed, diagnostics } = await new Parser().parse(text);
    expect(diagnostics).toEqual([]);
    expect(parsed!.channels().all()).toHaveLength(keys.length);
    expect(
      parsed!
        .messages()
        .all()
        .map((message) => message.name())
        .toSorted(),
    ).toEqual(names.toSorted());
    // Every stage reads one topic, and each topic has a writer.
    expect(parsed!.operations().filterByReceive()).toHaveLength(4);
    for (const channel of parsed!.channels().all())
      expect([channel.address(), channel.operations().filterBySend().length > 0]).toEqual([
        channel.address(),
        true,
      ]);
  });

  it('has the schemas that the registry has', () => {
    for (const name of names)
      expect(document.components.messages[name]).toMatchObject({
        payload: { schema: messages[name].schema },
        'x-schema-id': messages[name].id,
      });
  });

  it('names topics, partitions and retention as they are made', () => {
    const { channels } = document;
    expect(channels.jobs).toMatchObject({
      address: `${config.topicPrefix}.jobs`,
      bindings: {
        kafka: {
          partitions: 1,
          replicas: config.replicationFactor,
          topicConfiguration: {
            'cleanup.policy': ['delete'],
            'retention.ms': config.retentionHours * 3_600_000,
          },
        },
      },
    });
    expect(channels.status!.bindings.kafka.topicConfiguration).toEqual({
      'cleanup.policy': ['compact', 'delete'],
      'retention.ms': config.retentionDaysJobs * 86_400_000,
    });
    expect(channels.rows!.bindings.kafka.partitions).toBe(config.partitions);
  });
});

describe('examples', () => {
  it.each(names)('%s is a message that could be sent', (name) => {
    const { value } = decode(encode(name, examples[name]), [name]);
    const more = name === 'ValidatedDevices' ? { more: [] } : {};
    expect(readable({ ...more, ...value })).toEqual(readable(examples[name]));
  });

  it('belong together', () => {
    const { groups } = examples.ValidatedDevices;
    const [, fromFile] = /^(\S+),/.exec(examples.RowBatch.rows.toString())!;
    expect(readable(groups, 'groups')).toEqual([{ key: '17', devices: [fromFile] }]);
  });
});

describe('every field', () => {
  it.each(names)('of %s says what it means', (name) => {
    for (const { path, meaning } of fieldsOf(name))
      expect([path, meaning]).toEqual([path, expect.stringMatching(/\.$|…$/)]);
  });

  it('has its type in words, and a version if a later one added it', () => {
    const fields = fieldsOf('ValidatedDevices');
    expect(fields.map(({ path, type, since }) => [path, type, since])).toEqual([
      ['job', 'long', undefined],
      ['file', 'int', undefined],
      ['batch', 'int', undefined],
      ['slot', 'int', undefined],
      ['part', 'int', undefined],
      ['groups', 'array of DeviceGroup', undefined],
      ['groups[].key', 'string', undefined],
      ['groups[].devices', 'array of UUID, 16 bytes', undefined],
      ['more', 'array of FileDevices', undefined],
      ['more[].file', 'int', undefined],
      ['more[].batch', 'int', undefined],
      ['more[].groups', 'array of DeviceGroup', undefined],
    ]);
    const types = Object.fromEntries(fieldsOf('RowBatch').map(({ path, type }) => [path, type]));
    expect(types).toMatchObject({
      layout: 'attributes | audience | identifiers',
      failure: 'ReadFailure or null',
      'failure.line': 'long or null',
    });
  });
});

describe('the page', () => {
  it('has every topic, every message and every field, and no script', () => {
    for (const key of keys) expect(page).toContain(`${config.topicPrefix}.${topics[key].name}</h2>`);
    for (const name of names) {
      expect(page).toContain(`<h3 id="${name}">`);
      for (const { path } of fieldsOf(name)) expect(page).toContain(`<code>${path}</code>`);
    }
    expect(page).not.toMatch(/<script|\son\w+=/);
    for (const [, address] of page.matchAll(/href="([^"]*)"/g)) expect(address).toMatch(/^(\/|#|data:,$)/);
  });

  it('escapes what it shows', () => {
    expect(html`<p title="${'"'}">${'<b>&'}${html`<i>${1}</i>`}</p>`.text).toBe(
      '<p title="&quot;">&lt;b&gt;&amp;<i>1</i></p>',
    );
  });

  it('shows short values on a line', () => {
    const long = Array.from({ length: 30 }, (_, n) => ({ n }));
    expect(pretty({ a: [1, 2], b: {} })).toBe('{ "a": [ 1, 2 ], "b": {} }');
    expect(JSON.parse(pretty({ long }))).toEqual({ long });
    expect(pretty({ long }).split('\n')).toHaveLength(34);
  });
});
