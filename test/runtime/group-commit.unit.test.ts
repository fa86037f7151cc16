import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { groupCommit, groupCommitEach } from '../../pipeline/runtime/group-commit.ts';

/** Work that ends when the test says so. */
function held() {
  const groups: number[][] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const work = (items: number[]) =>
    new Promise<number[]>((resolve, reject) => {
      groups.push(items);
      ends.push((failure) => (failure ? reject(failure) : resolve(items.map((item) => item * 2))));
    });
  return { groups, ends, work };
}

describe('calls that go together', () => {
  it('those of one moment, and those that come while the work is under way', async () => {
    const { groups, ends, work } = held();
    const call = groupCommit(work);
    const early = [call(1), call(2)];
    await turn();
    await turn();
    const late = [call(3), call(4), call(5)];
    await turn();
    expect(groups).toEqual([[1, 2]]);
    ends[0]!();
    expect(await Promise.all(early)).toEqual([2, 4]);
    await turn();
    expect(groups).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    ends[1]!();
    expect(await Promise.all(late)).toEqual([6, 8, 10]);
  });

  it('a failure is everybody’s in the group and nobody’s behind it', async () => {
    const { ends, work } = held();
    const call = groupCommit(work);
    const failing = [call(1), call(2)];
    await turn();
    await turn();
    const next = call(3);
    ends[0]!(new Error('no'));
    await Promise.all(failing.map((one) => expect(one).rejects.toThrow('no')));
    await turn();
    ends[1]!();
    expect(await next).toBe(6);
  });

  it('as many groups at once as allowed, each no larger than fits', async () => {
    const { groups, ends, work } = held();
    const call = groupCommit(work, { inFlight: 2, howMany: ({ length }) => Math.min(length, 2) });
    const all = [1, 2, 3, 4, 5].map(call);
    await turn();
    await turn();
    expect(groups).toEqual([
      [1, 2],
      [3, 4],
    ]);
    ends[1]!();
    await turn();
    expect(groups[2]).toEqual([5]);
    ends[0]!();
    ends[2]!();
    expect(await Promise.all(all)).toEqual([2, 4, 6, 8, 10]);
  });
});

describe('calls that go together and fail each by itself', () => {
  const failing = (...bad: number[]) => {
    const groups: number[][] = [];
    const call = groupCommitEach(async (items: number[]) => {
      groups.push(items);
      for (const item of items) if (bad.includes(item)) throw new Error(`no ${item}`);
      return items.map((item) => item * 2);
    });
    const results = (items: number[]) =>
      Promise.all(items.map((item) => call(item).catch((error: Error) => error.message)));
    return { groups, results };
  };

  it('one group, if none fails', async () => {
    const { groups, results } = failing();
    expect(await results([1, 2, 3])).toEqual([2, 4, 6]);
    expect(groups).toEqual([[1, 2, 3]]);
  });

  it('of a group that fails, those fail that fail alone', async () => {
    const { groups, results } = failing(2, 4);
    expect(await results([1, 2, 3, 4])).toEqual([2, 'no 2', 6, 'no 4']);
    expect(groups).toEqual([[1, 2, 3, 4], [1], [2], [3], [4]]);
    expect(await results([5, 6])).toEqual([10, 12]);
  });

  it('one that is alone is not tried twice', async () => {
    const { groups, results } = failing(1);
    expect(await results([1])).toEqual(['no 1']);
    expect(groups).toEqual([[1]]);
  });
});
