/** Whether a rate holds: the backlog must not grow from the middle of its step to the end. */
import { describe, expect, it } from 'vitest';
import { highestHeld, judgeStep, ratesOf } from '../../../deploy/cli/load/ramp.ts';

/** A step of 60 s that starts at 100 s, with a sample every half second. */
function step(rate: number, backlogAt: (second: number) => number, acceptedAt = 160) {
  const samples = Array.from({ length: 120 }, (_, n) => ({
    at: 100 + n / 2,
    queued: backlogAt(n / 2),
    rows: 0,
    files: 0,
    in_flight: 0,
    ended: 0,
  }));
  return judgeStep({ rate, jobs: rate * 60, begin: 100, plannedSeconds: 60, acceptedAt, samples });
}

describe('a rate', () => {
  it('holds with a backlog that stays, whatever its height, and that goes up and down', () => {
    expect(step(10, () => 300)).toMatchObject({ held: true, backlog_before: 300, backlog_after: 300 });
    expect(step(2, (second) => second % 3)).toMatchObject({ held: true });
  });

  it('holds if the backlog grows only at first', () => {
    expect(step(10, (second) => Math.min(second, 20) * 5)).toMatchObject({ held: true });
  });

  it('does not hold if a tenth of the jobs is not kept up with', () => {
    expect(step(10, (second) => second)).toMatchObject({ held: false });
    expect(step(2, (second) => 0.2 * second)).toMatchObject({ held: false });
  });

  it('does not hold if the service is too slow to accept so many', () => {
    expect(step(10, () => 0, 180)).toMatchObject({ held: false });
  });
});

it('the rates of a ramp, and the highest that held', () => {
  expect([...ratesOf({ from: 1, to: 3, by: 1 })]).toEqual([1, 2, 3]);
  expect([...ratesOf({ from: 0.1, to: 0.35, by: 0.1 })]).toEqual([0.1, 0.2, 0.3]);
  const steps = [step(1, () => 1), step(2, () => 2), step(3, (second) => second)];
  expect(highestHeld(steps)).toBe(2);
  expect(highestHeld(steps.slice(2))).toBe(null);
});
