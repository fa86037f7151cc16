/** Settings for a service under test: its own database, topics and groups on the given servers. */
import { randomBytes } from 'node:crypto';
import { addressesAsEnvironment, type ServerAddresses } from '../../deploy/local/addresses.ts';
import { createKafka } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { waitFor } from './wait-for.ts';

export type Settings = Record<string, string>;

/**
 * Limits that a slow host does not reach, and a session timeout short enough to detect a killed member soon. A test of one of these
 * limits sets its own.
 */
export const patient: Settings = {
  HEADRACE_LIMIT_BACKEND_MS: '60000',
  HEADRACE_SHUTDOWN_MS: '600000',
  HEADRACE_SESSION_TIMEOUT_MS: '4000',
};
/** For servers that are down: calls fail soon. */
export const impatient: Settings = { HEADRACE_LIMIT_BACKEND_MS: '2500' };

/** The bucket is shared, so partners get no storage in it. */
export function uniqueSettings(addresses: ServerAddresses, more: Settings = {}): Settings {
  const unique = `t${randomBytes(6).toString('hex')}`;
  return {
    ...addressesAsEnvironment(addresses),
    ...patient,
    HEADRACE_MONGO_DATABASE: unique,
    HEADRACE_TOPIC_PREFIX: unique,
    HEADRACE_GROUP_PREFIX: unique,
    HEADRACE_SECRET: randomBytes(32).toString('base64'),
    ...more,
  };
}

/** Hundreds of leftover databases and topics slow the servers down for every later test. */
export async function dropData(settings: Settings): Promise<void> {
  const config = parseConfig({ ...settings, ...patient });
  const log = createLogger({ logLevel: 'silent' }, 'drop');
  const mongo = await connectMongo(config);
  const admin = createKafka(config, log).admin();
  try {
    await admin.connect();
    const dropTopics = async () => {
      const topics = (await admin.listTopics()).filter((name) => name.startsWith(`${config.topicPrefix}.`));
      if (topics.length > 0) await admin.deleteTopics({ topics, timeout: 25_000 });
      return true;
    };
    // The broker's answer may come too late.
    await Promise.all([waitFor(dropTopics, { what: 'the topics to go' }), mongo.db.dropDatabase()]);
  } finally {
    await Promise.all([admin.disconnect(), mongo.close()]);
  }
}
