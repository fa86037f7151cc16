/** One service whose pipeline is killed, frozen and loses messages, one scenario after the other, compared with the oracle. */
import { describe, expect, it } from 'vitest';
import { loadsKilled } from './scenarios/loads-killed.ts';
import { lostMessages } from './scenarios/lost-messages.ts';
import { pipelineKilled } from './scenarios/pipeline-killed.ts';
import { poisonedJob } from './scenarios/poisoned-job.ts';
import { stoppedJob } from './scenarios/stopped-job.ts';
import { zombie } from './scenarios/zombie.ts';
import { setUpFaults } from './support/fixture.ts';
import { roundSeed } from './support/random.ts';

const random = roundSeed('pipeline');
/** Little memory, a narrow window and short pages: even jobs of a few files spill devices, publish files in turns and list in pages. */
const faults = setUpFaults(random, {
  apis: 0,
  lanes: 2,
  more: {
    HEADRACE_SINK_MEMORY_MB: '1',
    HEADRACE_TEST_FILE_WINDOW: '2',
    HEADRACE_TEST_LIST_PAGE: '2',
    HEADRACE_PARTITIONS: '2',
  },
});

describe('killed', () => pipelineKilled(faults, random));
describe('killed at the end of loads', () => loadsKilled(faults, random));
describe('frozen', () => zombie(faults, random));
describe('messages lost', () => lostMessages(faults));
describe('a job that cannot be processed', () => poisonedJob(faults, random));
describe('a decided job that cannot be merged', () => stoppedJob(faults));

it('everything that was asked for ended as the oracle says, and nothing is left behind', async () => {
  await faults.killPipeline();
  // A dispatcher sweeps when it starts, so leftovers of crashed processes go without a wait for the next sweep.
  faults.pipeline.start();
  await faults.expectExact({ swept: true });
  expect(await faults.pipeline.stop()).toBe(0);
});
