/** Three brokers and three members of a replica set: what happens to a service when some of them are lost. */
import { describe } from 'vitest';
import { clusterMembers } from './scenarios/cluster-members.ts';
import { primaryLost } from './scenarios/primary-lost.ts';
import { setUpServers } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('cluster');
const on = setUpServers({ brokers: 3, members: 3, canBeCut: true });

describe('a primary lost with jobs that no other member has', () => primaryLost(on, random));
describe('one broker or member at a time', () => clusterMembers(on, random));
