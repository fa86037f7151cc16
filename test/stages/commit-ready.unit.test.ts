/** Ready jobs are decided in one write, and the decided ones get their commit markers. */
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { noneExpected } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import { createCommitReady } from '../../pipeline/stages/dispatch/commit/commit-ready.ts';
import type { SlotCoordinator } from '../../pipeline/stages/dispatch/commit/coordinate-slots.ts';
import type { Decision, JobDecision } from '../../pipeline/stores/jobs/jobs.ts';
import type { FileFailure, JobDocument } from '../../schemas/job-documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

const outcome: Decision = {
  verdict: { passed: [0, 0], collapsed: [], attempt: 0, expected: new Binary(noneExpected.buffer) },
  rows: 3,
  accepted: 3,
  rejected: {},
  filesDone: 1,
  errors: null,
  unpackedBytes: 9,
};
const cancelled: FileFailure = { code: 'cancelled', message: 'it was cleared' };
const listed = (_id: number, partner: string, fields: Partial<JobDocument> = {}) =>
  aJob({ _id, partner, kind: 'import', audience: null, generation: null, phase: 'listed', ...fields });

/** `late`: jobs cancelled just before the decision. They and the jobs behind them in their lane are not decided. */
function createScene({ late = [] as number[], cleared = [] as number[] } = {}) {
  const { step, actions } = recordingEnvironment('dispatch');
  const documents = new Map<number, JobDocument>();
  const writes: JobDecision[][] = [];
  const asked: number[] = [];
  const sent: number[][] = [];
  const commitReady = createCommitReady({
    jobs: {
      async decide(decisions: JobDecision[]) {
        writes.push(decisions);
        const held = new Set<string>();
        return decisions.map(({ id, lane, outcome }): JobDocument => {
          if (late.includes(id)) held.add(lane);
          const job = documents.get(id)!;
          return held.has(lane) ? job : { ...job, ...outcome, phase: 'decided' };
        });
      },
    },
    numberEvents: async (jobs) => void actions.push(`number events of ${jobs.map(({ _id }) => _id)}`),
    laneOf: ({ partner }) => partner,
    async cancellationOf({ _id }) {
      asked.push(_id);
      return cleared.includes(_id) ? cancelled : undefined;
    },
  });
  const slots = {
    async commit(jobs: JobDocument[]) {
      actions.push('tell the slots');
      sent.push(jobs.map(({ _id }) => _id));
    },
  } as SlotCoordinator;
  return {
    actions,
    writes,
    asked,
    sent,
    commit(...jobs: JobDocument[]) {
      for (const job of jobs) documents.set(job._id, job);
      const ready = jobs.map((job) => (job.phase === 'decided' ? { job } : { job, outcome }));
      return commitReady(ready, slots, step);
    },
  };
}

it('jobs of two lanes are decided in one write, and the slots are told of both at once, behind it', async () => {
  const { commit, writes, sent, actions } = createScene();
  const current = await commit(listed(1, 'a'), listed(2, 'b'), listed(3, 'a'));
  expect(writes.map((some) => some.map(({ id, lane }) => [id, lane]))).toEqual([
    [
      [1, 'a'],
      [2, 'b'],
      [3, 'a'],
    ],
  ]);
  expect(sent).toEqual([[1, 2, 3]]);
  expect(current.map(({ _id, phase }) => [_id, phase])).toEqual([1, 2, 3].map((id) => [id, 'decided']));
  expect(actions).toEqual(['decide', 'number events of 1,2,3', 'tell the slots']);
});

it('one that is cancelled at the last moment holds back its own lane, and no other', async () => {
  const { commit, sent } = createScene({ late: [2] });
  const current = await commit(listed(1, 'a'), listed(2, 'a'), listed(3, 'b'), listed(4, 'a'));
  expect(current.map(({ phase }) => phase)).toEqual(['decided', 'listed', 'decided', 'listed']);
  expect(sent).toEqual([[1, 3]]);
});

it('one that was decided before is not decided again, and the slots are told again', async () => {
  const { commit, writes, sent } = createScene();
  await commit(listed(1, 'a', { phase: 'decided' }), listed(2, 'b'));
  await commit(listed(3, 'a', { phase: 'decided' }));
  expect(writes.map((some) => some.map(({ id }) => id))).toEqual([[2]]);
  expect(sent).toEqual([[1, 2], [3]]);
});

it('nothing is merged of a load whose audience was cleared; an import needs no look', async () => {
  const { commit, writes, asked } = createScene({ cleared: [1] });
  const load = { kind: 'audience', audience: 1, generation: 1 } as const;
  await commit(listed(1, 'a', load), listed(2, 'a', load), listed(3, 'a'));
  expect(asked).toEqual([1, 2]);
  expect(writes[0]!.map((one) => one.outcome)).toMatchObject([
    { errors: [cancelled], verdict: { passed: [] }, unpackedBytes: 9, rows: 0 },
    outcome,
    outcome,
  ]);
});
