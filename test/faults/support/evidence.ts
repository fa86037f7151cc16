/** Dumps MongoDB and Kafka to files after a failure, to be read when the servers are gone. */
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Binary } from 'mongodb';
import { createKafka, groupName, topicName } from '../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import { collections } from '../../../schemas/documents.ts';
import { stageInputs } from '../../../schemas/topics.ts';
import type { Driver } from '../../support/driver.ts';

const wanted = ['jobs', 'files', 'audiences', 'acks', 'ledger', 'manifests', 'idempotency'] as const;

const plain = (_: string, value: unknown) => (value instanceof Binary ? `${value.length()} bytes` : value);

async function* lines(documents: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const document of documents) yield `${JSON.stringify(document, plain)}\n`;
}

async function offsets({ config }: Driver): Promise<object> {
  const admin = createKafka(config, createLogger({ logLevel: 'silent' }, 'evidence')).admin();
  await admin.connect();
  try {
    const found: Record<string, object> = {};
    for (const { topic: key, stage } of stageInputs) {
      const topic = topicName(config, key);
      const groupId = groupName(config, stage);
      const [ends, committed, { groups }] = await Promise.all([
        admin.fetchTopicOffsets(topic),
        admin.fetchOffsets({ groupId, topics: [topic] }),
        admin.describeGroups([groupId]),
      ]);
      found[stage] = {
        state: groups[0]?.state,
        members: groups[0]?.members.length,
        ends: ends.map(({ partition, high }) => `${partition}: ${high}`).sort(),
        committed: committed[0]?.partitions.map(({ partition, offset }) => `${partition}: ${offset}`).sort(),
      };
    }
    return found;
  } finally {
    await admin.disconnect();
  }
}

/** Returns the folder of the dump. */
export async function keepEvidence(driver: Driver, directory: string): Promise<string> {
  const folder = join(directory, 'evidence');
  mkdirSync(folder, { recursive: true });
  for (const name of wanted) {
    const documents = driver.db.collection(collections[name]).find().sort({ _id: 1 });
    await pipeline(lines(documents), createWriteStream(join(folder, `${name}.jsonl`)));
  }
  writeFileSync(join(folder, 'offsets.json'), JSON.stringify(await offsets(driver), null, 1));
  return folder;
}
