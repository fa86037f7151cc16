/** Redelivered and forged messages change no count and no set. */
import { expect, it } from 'vitest';
import { type Described, describeMessage, tryDecode } from '../../deploy/cli/operator/describe-message.ts';
import { planTopic } from '../../deploy/cli/operator/plan-replay.ts';
import { readTopic } from '../../pipeline/kafka/read-topic.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { encode } from '../../pipeline/wire/codec.ts';
import type { AcceptedJob, TopicKey } from '../../schemas/topics.ts';
import { eventually } from '../support/eventually.ts';
import { useService } from '../support/fixture.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { setNames } from '../support/stored-sets.ts';
import { waitFor } from '../support/wait-for.ts';

const { service, driver } = await useService({ parts: ['pipeline'] });

const log = createLogger({ logLevel: 'silent' }, 'test');
async function messagesOf(topic: TopicKey): Promise<Described[]> {
  const messages: Described[] = [];
  await readTopic(service.config, log, topic, (message) => {
    messages.push(describeMessage(message, tryDecode(topic, message.value)));
  });
  return messages;
}

/** Everything that users can see, without times and without whether a job's end is published, which shows a moment later. */
async function picture() {
  const strip = (documents: object[]) =>
    documents.map((document) => ({ ...document, updatedAt: null, statusUnpublished: undefined }));
  return {
    jobs: strip(await driver.jobs.find().sort({ _id: 1 }).toArray()),
    audiences: strip(await driver.audiences.find().sort({ _id: 1 }).toArray()),
    files: strip(await driver.db.collection('files').find().sort({ job: 1, number: 1 }).toArray()),
    manifests: (await driver.db.collection('manifests').find().sort({ _id: 1 }).toArray()).map(
      ({ _id, count }) => ({ _id, count }),
    ),
    rejects: await driver.db.collection('rejects').countDocuments(),
  };
}

it('every topic replayed from offset 0 into the running service changes nothing', async () => {
  const partner = await driver.partner();
  const [kept, gone] = [await driver.attribute(partner), await driver.attribute(partner)];
  const devices = ids(4_000);
  await driver.upload(partner, 'both.csv', `${file(devices, `${kept},${gone}`)}junk,${kept}\n`);
  await driver.upload(partner, 'aud.csv', file(devices.slice(0, 1_500), 'event'));
  await driver.import(partner, 'both.csv');
  const audience = await driver.createAudience(partner, 'aud.csv');
  await driver.ended(await driver.delete(partner, [gone]));
  const before = await picture();

  for (const topic of ['jobs', 'files', 'rows', 'devices'] as const) {
    expect(await (await planTopic(service.config, topic)).run()).toBeGreaterThan(0);
  }
  // A job behind all replayed messages: once it has ended, they have been read.
  await driver.upload(partner, 'after.csv', file(ids(10), kept));
  const after = await driver.ended(await driver.import(partner, 'after.csv'));
  expect(after).toMatchObject({ status: 2, uniqueDevices: 10 });

  const now = await picture();
  expect(now.jobs.slice(0, -1)).toEqual(before.jobs);
  expect(now.audiences).toEqual(before.audiences);
  expect(now.files.slice(0, -1)).toEqual(before.files);
  expect(now.rejects).toBe(before.rejects);
  await waitFor(async () => (await driver.db.collection('ledger').countDocuments()) === 0, {
    what: 'an empty ledger',
  });
  expect(await driver.members(setNames.attribute(gone))).toEqual(new Set());
  expect((await driver.members(setNames.attribute(kept))).size).toBe(4_010);
  expect(await driver.members(setNames.audience(audience, 1))).toEqual(asMembers(devices.slice(0, 1_500)));
});

it('garbage on every topic goes to the dead letters with its origin, and the partition goes on', async () => {
  const before = (await messagesOf('deadLetters')).length;
  const garbage = [
    Buffer.from('garbage'),
    Buffer.of(0, 0, 0, 0, 4, 255, 255, 255),
    encode('DeadLetter', letter()),
  ];
  for (const topic of ['jobs', 'files', 'rows', 'devices'] as const) {
    await driver.publisher.send(
      topic,
      garbage.map((value) => ({ partition: 0, key: 'garbage', value })),
    );
  }
  // A well-formed message about a job that was never accepted.
  const forged = {
    job: 999_999,
    kind: 'import',
    partner: 'p',
    file_path: 'x',
    path_type: 0,
    key_type: 0,
    compressed: null,
    keys: [],
    audience: null,
    generation: null,
    accepted_at: 0,
  } satisfies AcceptedJob;
  await driver.publisher.send('jobs', [
    { partition: 0, key: 'forged', value: encode('AcceptedJob', forged) },
  ]);
  const partner = await driver.partner();
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'a.csv', file(ids(100), attribute));
  expect(await driver.ended(await driver.import(partner, 'a.csv'))).toMatchObject({
    status: 2,
    uniqueDevices: 100,
  });
  // A redelivered poison message adds another dead letter with the same origin.
  const origins = async () => {
    const letters = (await messagesOf('deadLetters')).slice(before).map(({ value }) => value!);
    const names = letters.map(({ topic, partition, offset }) => `${topic} ${partition} ${offset}`);
    return [...new Set(names)].map((name) => name.split(' ')[0]!.split('.').pop()).sort();
  };
  await eventually(origins).toEqual(
    ['devices', 'files', 'jobs', 'rows'].flatMap((topic) => [topic, topic, topic]),
  );
});

const letter = () => ({
  topic: 't',
  partition: 0,
  offset: '0',
  error: '',
  key: null,
  value: Buffer.alloc(0),
  at: 0,
});
