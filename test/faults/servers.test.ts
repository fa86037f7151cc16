/** A single Kafka and a single mongod that are killed and frozen under a service, and under an API alone. */
import { describe } from 'vitest';
import { apiOutage } from './scenarios/api-outage.ts';
import { eventStreams } from './scenarios/events.ts';
import { serversKilled } from './scenarios/servers-killed.ts';
import { setUpServers } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('servers');
const on = setUpServers({}, ['kafka', 'mongod']);

describe('killed and frozen', () => serversKilled(on, random));
describe('killed under open event streams', () => eventStreams(on));
describe('killed and frozen under an API', () => apiOutage(on));
