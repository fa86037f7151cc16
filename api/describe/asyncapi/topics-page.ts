/** /docs/topics: the topics, for data engineers who read them. One page without scripts, generated from the definitions. */
import { retentionHoursOf } from '../../../pipeline/kafka/topics.ts';
import {
  type MessageName,
  messages,
  type TopicContract,
  type TopicKey,
  topics,
  versionsOf,
} from '../../../schemas/topics.ts';
import { fieldsOf } from './avro-fields.ts';
import type { DescribedTopics } from './document.ts';
import { examples, readable } from './examples.ts';
import { Html, html } from './html.ts';
import { topicsStyle } from './topics-style.ts';

const keys = Object.keys(topics) as TopicKey[];

/** Keeps short objects and arrays on one line. */
export function pretty(value: unknown, indent = ''): string {
  const line = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
  if (typeof value !== 'object' || value === null || line.length + indent.length <= 90) return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const members = Object.entries(value).map(([key, member]) =>
    Array.isArray(value) ? pretty(member, inner) : `${JSON.stringify(key)}: ${pretty(member, inner)}`,
  );
  return `${open}\n${members.map((member) => inner + member).join(',\n')}\n${indent}${close}`;
}

const keptFor = (hours: number) => (hours % 24 === 0 && hours > 72 ? `${hours / 24} days` : `${hours} hours`);
const list = (words: readonly string[]) => words.join(', ');

function messageSection(name: MessageName): Html {
  const { schema } = messages[name];
  const versions = versionsOf(name);
  const rows = fieldsOf(name).map(
    ({ path, type, meaning, since }) => html`<tr>
<th scope="row"><code>${path}</code></th><td>${type}</td>
<td>${meaning}${since ? html` <span class="since">since version ${since}</span>` : ''}</td></tr>
`,
  );
  const links = versions.map(
    ({ id }, before) =>
      html`${before > 0 ? ', ' : ''}version ${before + 1}: <a href="/schemas/ids/${id}/schema">id ${id}</a>`,
  );
  return html`<article>
<h3 id="${name}">${name}</h3>
<p>${(schema as { doc?: string }).doc ?? ''} <span class="quiet">Schema headrace.${name}, ${links}.</span></p>
<div class="scroll" tabindex="0" role="region" aria-label="Fields of ${name}"><table>
<thead><tr><th scope="col">field</th><th scope="col">type</th><th scope="col">meaning</th></tr></thead>
<tbody>
${rows}</tbody></table></div>
<details><summary>Example, decoded</summary><pre tabindex="0">${pretty(readable(examples[name]))}</pre></details>
</article>
`;
}

function topicSection(key: TopicKey, config: DescribedTopics): Html {
  const topic: TopicContract = topics[key];
  const facts: [string, string][] = [
    ['written by', list(topic.writers)],
    ['read by', topic.reader ?? 'you: no stage needs it'],
    ['key', topic.key],
    ['partitions', String(topic.partitions === 'many' ? config.partitions : topic.partitions)],
    [
      'kept',
      `${keptFor(retentionHoursOf(config, key))}${topic.cleanup === 'delete' ? '' : ', compacted by key'}`,
    ],
  ];
  return html`<section aria-labelledby="${key}">
<h2 id="${key}">${config.topicPrefix}.${topic.name}</h2>
<p>${topic.purpose}</p>
<dl>${facts.map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}</dl>
${topic.holds.map(messageSection)}</section>
`;
}

const example = (config: DescribedTopics) => {
  const url = config.publicUrl ?? 'http://127.0.0.1:8080';
  return `pip install 'confluent-kafka[avro,schemaregistry]'

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

deserialize = AvroDeserializer(SchemaRegistryClient({"url": "${url}"}))
consumer = Consumer({"bootstrap.servers": BROKERS, "group.id": "mine", "auto.offset.reset": "earliest"})
consumer.subscribe(["${config.topicPrefix}.status"])
while True:
    message = consumer.poll(1)
    if message:
        print(deserialize(message.value()))`;
};

function overview(config: DescribedTopics): Html {
  const rows = keys.map((key) => {
    const { name, purpose, holds }: TopicContract = topics[key];
    const links = holds.map((each, n) => html`${n > 0 ? ', ' : ''}<a href="#${each}">${each}</a>`);
    return html`<tr><th scope="row"><a href="#${key}">${config.topicPrefix}.${name}</a></th><td>${purpose}</td><td>${links}</td></tr>
`;
  });
  return html`<section aria-labelledby="overview">
<h2 id="overview">Overview</h2>
<pre class="flow" tabindex="0">api ─► jobs ─► dispatch ─► files ─► split ─► rows ─► validate ─► devices ─► sink
                   └─► status                            └─► rejects</pre>
<div class="scroll" tabindex="0" role="region" aria-label="Topics"><table>
<thead><tr><th scope="col">topic</th><th scope="col">what it is for</th><th scope="col">messages</th></tr></thead>
<tbody>
${rows}</tbody></table></div>
</section>
<section aria-labelledby="read">
<h2 id="read">Read the topics</h2>
<p>Values are Avro in the Confluent wire format: a zero byte, the id of the schema in four bytes, the value. This API is also the
schema registry, so any of its clients decodes them. Read any topic with your own consumer group; never write. Delivery is at least
once, so a message may appear again.</p>
<pre tabindex="0">${example(config)}</pre>
<p>Subjects are named <code>topic-value</code> for a topic with one type of message, and <code>topic-record</code> for every type.
Schema versions are fully compatible: each reads messages of all others. Identifiers are 16 bytes;
<code>uuid.UUID(bytes=…)</code> gives their canonical form.</p>
</section>
`;
}

export const topicsPage = (config: DescribedTopics): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Topics · headrace</title>
<link rel="icon" href="data:,">
<style>${new Html(topicsStyle)}</style>
</head>
<body>
<header><nav aria-label="Documentation"><b>headrace</b> <a href="/docs">API</a> <a href="/docs/topics" aria-current="page">Topics</a>
<a href="/asyncapi.json">AsyncAPI</a> <a href="/subjects">Registry</a></nav></header>
<main>
<h1>Topics</h1>
${overview(config)}${keys.map((key) => topicSection(key, config))}</main>
</body>
</html>
`.text;
