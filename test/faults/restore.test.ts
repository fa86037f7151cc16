/** Kafka and mongod are wiped and restored from copies. Each scenario runs its own service on them. */
import { describe } from 'vitest';
import { olderKafka, olderMongo } from './scenarios/restore.ts';
import { setUpServers } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('restore');
const on = setUpServers({}, ['kafka', 'mongod']);

describe('MongoDB is older than Kafka', () => olderMongo(on, random));
describe('Kafka is older than MongoDB', () => olderKafka(on, random));
