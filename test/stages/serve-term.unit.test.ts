/** What a term of the active dispatcher does besides running jobs, and how jobs of different lanes pass their gates. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createStep } from '../../pipeline/engine/step.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { nothing } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import type { Ending } from '../../pipeline/stages/dispatch/commit/end-jobs.ts';
import { createTerm, type TermDependencies } from '../../pipeline/stages/dispatch/serve-term.ts';
import { NotDecided, type OwnTurns, type ReadyJob } from '../../pipeline/stages/dispatch/turns.ts';
import type { Decision } from '../../pipeline/stores/jobs/jobs.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import { eventually } from '../support/eventually.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';
import { waitFor } from '../support/wait-for.ts';

const log = createLogger({ logLevel: 'silent' }, 'test');

function startTerm(deps: Partial<TermDependencies> | Record<string, unknown>) {
  const ending = new AbortController();
  const term = createTerm(
    {
      log,
      status: { publishMissed: async () => {} },
      notifier: { subscribe() {} },
      onActive() {},
      onJobsInFlight() {},
      onFatal(error: unknown) {
        throw error;
      },
      jobWindow: 9,
      sweep: async () => {},
      sweepOrphans: async () => {},
      expireJobs: async () => {},
      ...deps,
    } as unknown as TermDependencies,
    createStep('dispatch', createRetry(log), ending.signal),
  );
  return { term, ending };
}

const chores = ['sweep', 'sweepOrphans', 'expireJobs'];

it('sweeps, the search for orphaned pages and the removal of history do not wait for each other', async () => {
  const begun = new Set<string>();
  const never = (chore: string) => () => {
    begun.add(chore);
    return new Promise<void>(() => {});
  };
  const { ending } = startTerm({
    jobs: { extent: async () => ({ first: 1, newest: 0 }), unfinishedFrom: async () => [] },
    ...Object.fromEntries(chores.map((chore) => [chore, never(chore)])),
  });
  await waitFor(() => begun.size === chores.length, { what: chores.join() });
  ending.abort();
});

/** Jobs of these partners, numbered from 1, all in flight. */
async function createScene(partners: string[]) {
  const documents = partners.map((partner, i) =>
    aJob({ _id: i + 1, partner, audience: null, phase: 'listed' }),
  );
  const places = new Map<number, OwnTurns>();
  const groups: number[][] = [];
  const decided: number[] = [];
  const scene = { fails: (_: number) => false, isLate: (_: number) => false };
  function take(jobs: JobDocument[]): void {
    groups.push(jobs.map(({ _id }) => _id));
    for (const { _id } of jobs) if (scene.fails(_id)) throw new Error(`job ${_id} fails`);
  }
  const { term, ending } = startTerm({
    laneOf: ({ partner }: JobDocument) => partner,
    jobs: {
      extent: async () => ({ first: 1, newest: documents.length }),
      unfinishedFrom: async (first: number) => documents.filter(({ _id }) => _id >= first),
      find: async (id: number) => documents[id - 1]!,
    },
    async commitReady(ready: ReadyJob[]) {
      take(ready.map(({ job }) => job));
      const held = new Set<string>();
      return ready.map(({ job }) => {
        if (scene.isLate(job._id)) held.add(job.partner);
        if (held.has(job.partner)) return job;
        decided.push(job._id);
        return { ...job, phase: 'decided' };
      });
    },
    endJobs: {
      async end(endings: Ending[]) {
        take(endings.map(({ job }) => job));
        return endings.map(({ job }) => ({ ...job, phase: 'ended' }));
      },
    },
    runJob(job: JobDocument, turns: OwnTurns) {
      places.set(job._id, turns);
      return new Promise<void>(() => {});
    },
  });
  for (const { _id } of documents) await term.deliver(_id, BigInt(_id));
  await waitFor(() => places.size === documents.length, { what: 'all jobs to be in flight' });

  const settled: [number, string][] = [];
  async function pass(id: number, gate: 'commits' | 'ends'): Promise<void> {
    const { gates, number } = places.get(id)!;
    const job = documents[id - 1]!;
    const passing =
      gate === 'commits'
        ? gates.commits.pass(number, { job, outcome: {} as Decision })
        : gates.ends.pass(number, { job } as Ending);
    const how = await passing.then(
      (current) => current!.phase as string,
      (error) => (error instanceof NotDecided ? 'not decided' : (error as Error).message),
    );
    settled.push([id, how]);
  }
  return {
    scene,
    groups,
    decided,
    settled,
    ending,
    /** All jobs are ready at the same moment; in each lane, the first job comes last. */
    passAll(gate: 'commits' | 'ends') {
      for (const { _id } of documents.toReversed()) void pass(_id, gate);
    },
    pass,
  };
}
const all = (how: string, ...jobs: number[]) => jobs.map((job): [number, string] => [job, how]);
const inOrder = (settled: [number, string][]) => settled.toSorted(([a], [b]) => a - b);

it('jobs of different lanes that are ready are decided in one write, and end in one', async () => {
  const { passAll, groups, settled, ending } = await createScene(['a', 'b', 'a', 'b']);
  passAll('commits');
  await eventually(() => inOrder(settled)).toEqual(all('decided', 1, 2, 3, 4));
  expect(groups).toHaveLength(1);
  expect(groups[0]!.filter((job) => job % 2)).toEqual([1, 3]);
  passAll('ends');
  await eventually(() => inOrder(settled.slice(4))).toEqual(all('ended', 1, 2, 3, 4));
  expect(groups).toHaveLength(2);
  ending.abort();
});

it('one that is cancelled at the last moment holds back its own lane until it is decided, and no other', async () => {
  const { scene, pass, passAll, settled, decided, ending } = await createScene(['a', 'b', 'a', 'b']);
  scene.isLate = (job) => job === 1;
  passAll('commits');
  await eventually(() => inOrder(settled)).toEqual([[1, 'not decided'], ...all('decided', 2, 4)]);
  await turn();
  expect(new Set(decided)).toEqual(new Set([2, 4]));
  scene.isLate = () => false;
  void pass(1, 'commits');
  await eventually(() => settled.slice(3)).toEqual(all('decided', 1, 3));
  ending.abort();
});

it.each(['commits', 'ends'] as const)(
  '%s: one that fails keeps back those behind it in its lane, and no other',
  async (gate) => {
    const { scene, pass, passAll, settled, groups, ending } = await createScene(['a', 'b', 'a', 'b']);
    scene.fails = (job) => job === 1;
    passAll(gate);
    const how = gate === 'commits' ? 'decided' : 'ended';
    await eventually(() => inOrder(settled)).toEqual([[1, 'job 1 fails'], ...all(how, 2, 4)]);
    await turn();
    // Not on its own either.
    expect(groups.filter((some) => some.includes(3) && !some.includes(1))).toEqual([]);
    scene.fails = () => false;
    void pass(1, gate);
    await eventually(() => settled.slice(3)).toEqual(all(how, 1, 3));
    ending.abort();
  },
);

it('a job that fails for good has not ended: no marker says so, and its message is read again', async () => {
  const { publisher, sent } = recordingEnvironment('dispatch');
  const verdict = nothing().verdict;
  const documents = ['a', 'b'].map((partner, i) => aJob({ _id: i + 1, partner, phase: 'decided', verdict }));
  const failures: unknown[] = [];
  let turns: OwnTurns | undefined;
  const { term, ending } = startTerm({
    publisher,
    devicePartitions: 1,
    laneOf: ({ partner }: JobDocument) => partner,
    jobs: {
      extent: async () => ({ first: 1, newest: 2 }),
      unfinishedFrom: async (first: number) => documents.filter(({ _id }) => _id >= first),
      find: async (id: number) => documents[id - 1]!,
    },
    runJob(job: JobDocument, own: OwnTurns) {
      if (job._id === 1) throw new Error('MongoDB is gone');
      turns = own;
      return new Promise<void>(() => {});
    },
    onFatal: (error: unknown) => failures.push(error),
  });
  for (const job of [1, 2]) await term.deliver(job, BigInt(job));
  await waitFor(() => turns && failures.length === 1, { what: 'the failure' });
  await turn();
  await turns!.slots.commit([documents[1]!]);
  expect(sent.map(({ message }) => message.value)).toMatchObject([{ job: 2, ended_before: 1 }]);
  expect(term.oldestOffset()).toBe(1n);
  ending.abort();
});
