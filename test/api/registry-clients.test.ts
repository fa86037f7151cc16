/** Third-party clients read every topic with only the brokers and the address of the registry. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it, type TestContext } from 'vitest';
import { readable } from '../../api/describe/asyncapi/examples.ts';
import { createPublisher } from '../../pipeline/kafka/publish.ts';
import { ensureTopics, topicName } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { decode, MalformedMessage } from '../../pipeline/wire/codec.ts';
import { type MessageName, messages, type TopicKey, topics } from '../../schemas/topics.ts';
import { readRecorded } from '../schemas/recorded-messages.ts';
import { useService } from '../support/fixture.ts';
import { ids } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { confluentPython, type RunPython } from './registry-clients/confluent-python.ts';

interface Line {
  topic: string;
  raw: string;
  type?: MessageName;
  // biome-ignore lint/suspicious/noExplicitAny: a message as another program has decoded it
  value?: any;
  error?: string;
}

const python = await confluentPython();
if ('missing' in python) process.stderr.write(`skipped: ${python.missing}\n`);
const { service, driver } = await useService();

function pythonOf({ skip }: TestContext): RunPython {
  if ('missing' in python) return skip(python.missing);
  return python.run;
}

const topicOf = (key: TopicKey) => topicName(service.config, key);
const names = Object.keys(messages) as MessageName[];

async function readTopics(run: RunPython, wanted: string[]): Promise<Line[]> {
  const brokers = service.config.kafkaBrokers.join();
  const output = await run('read_topics.py', brokers, service.apiUrl, ...wanted);
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Creates a topic that no stage reads, with exactly these messages. Returns its name. */
async function topicWith(values: Buffer[]): Promise<string> {
  const config = { ...service.config, topicPrefix: `t${randomUUID()}` };
  const log = createLogger({ logLevel: 'silent' }, 'test');
  await ensureTopics(config, log);
  const publisher = createPublisher(config, log);
  await publisher.connect();
  await publisher.send(
    'status',
    values.map((value) => ({ partition: 0, key: '', value })),
  );
  await publisher.close();
  return topicName(config, 'status');
}

/** The message as our own codec decodes it, in the Python client's output format. */
function seenByUs({ raw }: Line): { name: string; value: unknown } {
  const { name, value } = decode(Buffer.from(raw, 'base64'), names);
  return {
    name,
    value: {
      ...(name === 'ValidatedDevices' ? { more: [] } : {}),
      ...(readable(value, '', 'base64') as object),
    },
  };
}

describe('confluent-kafka for Python', () => {
  it('decodes every topic and every type of message, with identifiers in canonical form', async (context) => {
    const run = pythonOf(context);
    const partner = await driver.partner();
    const attribute = await driver.attribute(partner);
    const [imported, visitors] = [ids(300), ids(200)];
    const rows = imported.map((id, n) => `${n % 2 ? id.toUpperCase() : id},${attribute}\n`).join('');
    await driver.upload(partner, 'day.csv', `${rows}not an identifier,${attribute}\n`);
    await driver.upload(
      partner,
      'visitors.csv',
      visitors.map((id, n) => `${id},${n % 2 ? 'visit' : ''}\n`).join(''),
    );
    await driver.upload(partner, 'broken.csv.gz', 'not gzip');
    const jobs = [
      await driver.import(partner, 'day.csv'),
      await driver.createAudience(partner, 'visitors.csv'),
      await driver.createAudience(partner, 'broken.csv.gz'),
      await driver.delete(partner, [attribute]),
    ];
    await driver.publisher.send('rows', [{ partition: 0, key: '', value: Buffer.from('garbage') }]);

    const all = (Object.keys(topics) as TopicKey[]).map(topicOf);
    const complete = (lines: Line[]) => {
      const seen = new Set(lines.map(({ type }) => type));
      const ended = lines.filter(({ type, value }) => type === 'JobStatusChanged' && value.status >= 2);
      return (
        names.every((name) => seen.has(name)) &&
        jobs.every((job) => ended.some(({ value }) => value.job === job))
      );
    };
    const lines = await waitFor(
      async () => {
        const read = await readTopics(run, all);
        return complete(read) ? read : null;
      },
      { what: 'every type of message, and the end of every job' },
    );

    const garbled = lines.filter(({ error }) => error !== undefined);
    expect(garbled.map(({ topic, raw }) => [topic, Buffer.from(raw, 'base64').toString()])).toEqual([
      [topicOf('rows'), 'garbage'],
    ]);
    expect(() => seenByUs(garbled[0]!)).toThrow(MalformedMessage);
    const good = lines.filter(({ error }) => error === undefined);
    for (const line of good) expect({ name: line.type, value: line.value }).toEqual(seenByUs(line));

    const valuesOf = (name: MessageName, job: number | undefined) =>
      good.filter(({ type, value }) => type === name && value.job === job).map(({ value }) => value);
    const devicesOf = (job: number | undefined) =>
      valuesOf('ValidatedDevices', job).flatMap(({ groups, more }) =>
        [{ groups }, ...more].flatMap((part) =>
          part.groups.flatMap((group: { devices: string[] }) => group.devices),
        ),
      );
    expect(new Set(devicesOf(jobs[0]))).toEqual(new Set(imported));
    expect(new Set(devicesOf(jobs[1]))).toEqual(new Set(visitors));
    // Messages are delivered at least once, so there may be duplicates.
    expect(valuesOf('AcceptedJob', jobs[1])[0]).toMatchObject({
      kind: 'audience',
      file_path: 'visitors.csv',
      partner: partner._id,
    });
    expect(valuesOf('RejectedRows', jobs[0])[0]).toMatchObject({
      rows: [{ line: 301, code: 'bad_identifier', raw: `not an identifier,${attribute}` }],
    });
    expect(valuesOf('RowBatch', jobs[2]).some(({ failure }) => failure?.code === 'bad_gzip')).toBe(true);
    expect(valuesOf('JobStatusChanged', jobs[1]).at(-1)).toMatchObject({ status: 2, unique_devices: 200 });
    expect(valuesOf('JobMarker', jobs[3]).every(({ kind }) => kind === 'delete')).toBe(true);
  });

  it('decodes messages of every version that there ever was, by the id in their header', async (context) => {
    const run = pythonOf(context);
    const recorded = readRecorded();
    const topic = await topicWith(recorded.flatMap((each) => each.messages));
    const lines = await readTopics(run, [topic]);
    const types = recorded.flatMap(({ name, messages }) => messages.map(() => name));
    expect(lines.map(({ type, error }) => type ?? error)).toEqual(types);
    for (const line of lines) expect(seenByUs(line).value).toMatchObject(line.value);
  });

  it('asks the registry everything that can be asked, and is refused in words that it knows', async (context) => {
    const run = pythonOf(context);
    const subject = `${topicOf('devices')}-headrace.JobMarker`;
    const answers = JSON.parse(await run('ask_registry.py', service.apiUrl, subject));
    expect(answers).toEqual({
      subjects: expect.arrayContaining([subject, `${topicOf('jobs')}-value`]),
      versions: [1],
      latest: [subject, 1, messages.JobMarker.id],
      schema: 'JobMarker',
      types: ['AVRO'],
      found_in: [subject],
      compatibility: ['FULL_TRANSITIVE', 'FULL_TRANSITIVE'],
      mode: ['READONLY', 'READONLY'],
      errors: {
        subject: 40401,
        version: 40402,
        schema: 40403,
        register: 42205,
        delete: 42205,
        compatibility: 42205,
      },
    });
  });
});
