/** A Kafka and a mongod that are emptied and put back from copies. Each part has a service of its own on them. */
import { describe } from 'vitest';
import { olderKafka, olderMongo } from './scenarios/restore.ts';
import { setUpServers } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('restore');
const on = setUpServers({}, ['kafka', 'mongod']);

describe('MongoDB is older than Kafka', () => olderMongo(on, random));
describe('Kafka is older than MongoDB', () => olderKafka(on, random));
