/** Two APIs and two pipelines that are killed, frozen, restarted and replaced under load; the end state is compared with the oracle. */
import { describe, it } from 'vitest';
import { apiFrozen } from './scenarios/api-frozen.ts';
import { apiKilled } from './scenarios/api-killed.ts';
import { races } from './scenarios/races.ts';
import { rolling } from './scenarios/rolling.ts';
import { stagesScaled } from './scenarios/stages-scaled.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('processes');
const maxProcesses = Number(process.env.SCALED_MOST ?? 2);
const faults = setUpFaults(random, {
  apis: 2,
  pipelines: 2,
  more: { HEADRACE_PARTITIONS: String(Math.min(16, 2 * maxProcesses)) },
});

describe('an API that freezes', () => apiFrozen(faults));
describe('an API that is killed', () => apiKilled(faults, random));
describe('clears, appends and deletions against loads', () => races(faults, random));
describe('processes that come and go', () => rolling(faults, random));
describe('processes with some of the stages', () => stagesScaled(faults, random));

it('everything that was asked for ended as the oracle says', () => faults.expectExact());
