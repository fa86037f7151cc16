/** Three brokers and a replica set of three: a service that loses some of them. */
import { describe } from 'vitest';
import { clusterMembers } from './scenarios/cluster-members.ts';
import { primaryLost } from './scenarios/primary-lost.ts';
import { setUpServers } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('cluster');
const on = setUpServers({ brokers: 3, members: 3, canBeCut: true });

describe('a primary lost with jobs that no other member has', () => primaryLost(on, random));
describe('one broker or member at a time', () => clusterMembers(on, random));
