/** What dispatch does with a job, step by step, from accepted to ended. */
import { expect, it } from 'vitest';
import {
  MAX_ANSWERED_A_SLOT,
  MAX_PAIRS_A_SLOT,
  noTotals,
  packTotals,
} from '../../pipeline/formats/slot-totals.ts';
import { nothing } from '../../pipeline/stages/dispatch/commit/add-up-files.ts';
import type { FileFailure, JobError } from '../../schemas/job-documents.ts';
import { good, loading, merging, mergingNothing, type Operator, setUp } from './run-job-scene.ts';

it('a load: listed, loaded, voted on, decided, committed, ended, published', async () => {
  const { run, actions } = setUp();
  await run();
  expect(actions).toEqual([...loading, 'decide', ...merging]);
});

it('a deletion has nothing to list', async () => {
  const { run, actions } = setUp({ job: { kind: 'delete', audience: null } });
  await run();
  expect(actions).toEqual(['decide', ...merging]);
});

it('one that may change too many attributes is refused before anything is decided', async () => {
  const tooMany: JobError = { code: 'too_many_attributes', message: 'too many' };
  const { run, actions, job } = setUp({ tooMany });
  await run();
  expect(actions).toEqual([...loading.slice(0, 4), 'decide', ...mergingNothing]);
  expect(job()).toMatchObject({ verdict: { passed: [] }, errors: [tooMany] });
});

it('what was lost on the way is loaded again before anything is decided', async () => {
  const { run, actions } = setUp({ missing: [[3]] });
  await run();
  expect(actions).toEqual([...loading, 'attempt', 'load', 'verdict', 'vote', 'decide', ...merging]);
});

it('lost in every attempt: nothing is merged', async () => {
  const { run, job } = setUp({ missing: [[3], [3], [3]] });
  await run();
  expect(job()).toMatchObject({ errors: [{ code: 'ledger_mismatch' }], verdict: { passed: [] } });
});

it('more than one job may load: it fails before anything is decided', async () => {
  const totals = [...noTotals(2), { pairs: MAX_PAIRS_A_SLOT, checksum: 1 }];
  const most = setUp({ judged: { ...good, slots: packTotals(totals) } });
  await most.run();
  expect(most.job()).toMatchObject({ errors: null, verdict: { passed: [0, 0] } });
  totals[2]!.pairs++;
  const more = setUp({ judged: { ...good, slots: packTotals(totals) } });
  await more.run();
  expect(more.actions).not.toContain('vote');
  expect(more.job()).toMatchObject({ errors: [{ code: 'too_many_rows' }], verdict: { passed: [] } });
});

it('an access request for more devices than an answer holds fails before anything is decided', async () => {
  const slots = packTotals([...noTotals(2), { pairs: MAX_ANSWERED_A_SLOT + 1, checksum: 1 }]);
  const access = setUp({
    judged: { ...good, slots },
    job: { kind: 'privacy', privacy: 'access', audience: null },
  });
  await access.run();
  expect(access.actions).not.toContain('vote');
  expect(access.job()).toMatchObject({ errors: [{ code: 'too_many_rows' }], verdict: { passed: [] } });
  const deletion = setUp({
    judged: { ...good, slots },
    job: { kind: 'privacy', privacy: 'delete', audience: null },
  });
  await deletion.run();
  expect(deletion.job()).toMatchObject({ errors: null, verdict: { passed: [0, 0] } });
});

it('a job without files, or one that was cancelled, is decided with nothing to merge', async () => {
  const none = setUp({ problem: { code: 'no_files', message: 'none' } });
  await none.run();
  expect(none.job()).toMatchObject({ errors: [{ code: 'no_files' }], verdict: { passed: [] } });
  const cancelled = setUp({ cancelled: { code: 'cancelled', message: 'it was cleared' } });
  await cancelled.run();
  expect(cancelled.job()).toMatchObject({ errors: [{ code: 'cancelled' }], verdict: { passed: [] } });
});

it('what was lost when it is to be merged is loaded again: the decision stands', async () => {
  const { run, actions, job } = setUp({ missingAtCommit: [[3]] });
  await run();
  const again = [
    'commit',
    'acknowledge',
    'attempt',
    'load',
    'commit',
    'acknowledge',
    'conclude',
    'end',
    'publish end',
  ];
  expect(actions).toEqual([...loading, 'decide', ...again]);
  expect(job().verdict!.passed).not.toEqual([]);
});

it('the same after a clear: nothing is loaded or merged any more, and it ends', async () => {
  const cleared: FileFailure = { code: 'cancelled', message: 'it was cleared' };
  const { run, actions, concluded } = setUp({ missingAtCommit: [[3]], clearedWhenDecided: cleared });
  await run();
  const dropped = ['commit', 'acknowledge', 'attempt', ...mergingNothing];
  expect(actions).toEqual([...loading, 'decide', ...dropped]);
  expect(concluded()).toMatchObject({
    attempt: 1,
    rows: 0,
    errors: [cleared],
    verdict: { passed: [], attempt: 1 },
  });
});

it('a failure of our own is tried again; the third time it ends the job', async () => {
  const { run, job, actions } = setUp({ failsToList: 3 });
  await run();
  expect(job()).toMatchObject({
    errors: [{ code: 'internal_error' }],
    internalReason: 'dispatch: Error: it cannot',
  });
  expect(actions.slice(-7)).toEqual(['decide', ...mergingNothing]);
});

it('a job that a sink cannot vote on fails, the third time; the decision is none of the attempts that sinks have given up', async () => {
  const { run, job } = setUp({ failsToVote: 'sink: RangeError: too large' });
  await run();
  expect(job()).toMatchObject({
    phase: 'ended',
    attempt: 3,
    internalReason: 'dispatch: SinkFailed: sink: RangeError: too large',
    errors: [{ code: 'internal_error' }],
    verdict: { passed: [], attempt: 3 },
  });
});

it('one that an operator cancels at the last moment is decided again, with nothing to merge', async () => {
  const cancelledLate: FileFailure = { code: 'cancelled', message: 'An operator cancelled the job.' };
  const { run, job, actions } = setUp({ cancelledLate });
  await run();
  expect(actions).toEqual([...loading, 'decide', ...loading.slice(2), 'decide', ...mergingNothing]);
  expect(job()).toMatchObject({ errors: [cancelledLate], verdict: { passed: [] } });
});

it('a decided job that a sink cannot merge is stopped: the decision stands, and the job waits', async () => {
  const { run, job, actions } = setUp({ sinkFails: 'sink: RangeError: too large' });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({
    phase: 'decided',
    stoppedAt: expect.any(Date),
    internalReason: 'sink: RangeError: too large',
    errors: null,
  });
  expect(actions).toEqual([...loading, 'decide', 'commit', 'stop']);
});

it('so is one that dispatch cannot end, the third time; it is merged once', async () => {
  const twice = setUp({ failsToEnd: 2 });
  await twice.run();
  expect(twice.job().phase).toBe('ended');
  const { run, job } = setUp({ failsToEnd: 3 });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({ phase: 'decided', internalReason: 'dispatch: Error: it cannot' });
});

it('and one whose devices are lost after the decision and cannot be loaded again', async () => {
  const { run, job, actions } = setUp({ missingAtCommit: [[3], [3], [3], [3]] });
  await expect(run()).rejects.toThrow('stopping');
  expect(job()).toMatchObject({ phase: 'decided', attempt: 3, stoppedAt: expect.any(Date) });
  expect(actions.filter((action) => action === 'load')).toHaveLength(4);
});

/** Acts when the stopped job is checked for the fifth time. */
const later = (act: (operator: Operator) => void) => {
  let looks = 0;
  return (operator: Operator) => {
    if (++looks === 5) act(operator);
  };
};
const stopped = [...loading, 'decide', 'commit', 'stop'];

it('a stopped job is left alone until an operator retries it; then it goes on, and its lane behind it', async () => {
  const passed: string[] = [];
  const { run, job, actions, gates } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      passed.push(...actions);
      operator.repair();
      operator.resume();
    }),
  });
  const next = gates.ends.pass(1, null).then(() => passed.push('the next job'));
  await run();
  await next;
  expect(passed).toEqual([...stopped, 'the next job']);
  expect(actions).toEqual([...stopped, ...merging]);
  expect(job()).toMatchObject({ phase: 'ended', attempt: 1, errors: null });
});

it('the same if he drops it', async () => {
  const { run, concluded, actions } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      operator.repair();
      operator.resume({ dropRequested: true });
    }),
  });
  await run();
  expect(actions).toEqual([...stopped, ...merging]);
  expect(concluded()).toMatchObject({ dropRequested: true, attempt: 1 });
});

it('or if its audience is cleared, which drops it', async () => {
  const cleared: FileFailure = { code: 'cancelled', message: 'it was cleared' };
  const { run, concluded, actions } = setUp({
    sinkFails: 'sink: RangeError: too large',
    whileStopped: later((operator) => {
      operator.repair();
      operator.clear(cleared);
    }),
  });
  await run();
  expect(actions).toEqual([...stopped, 'attempt', ...mergingNothing]);
  expect(concluded()).toMatchObject({ dropRequested: true, attempt: 1, errors: [cleared] });
});

it('one that an earlier dispatcher has stopped is not committed before that either', async () => {
  const { passed, ...rest } = nothing().verdict;
  const { run, job, actions } = setUp({
    job: { phase: 'decided', stoppedAt: new Date(), verdict: { ...rest, passed: [...passed, 0, 0] } },
    whileStopped: later((operator) => {
      expect(actions).toEqual([]);
      operator.resume();
    }),
  });
  await run();
  expect(actions).toEqual(merging);
  expect(job()).toMatchObject({ phase: 'ended', attempt: 1 });
});
