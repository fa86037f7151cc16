import { expect, it } from 'vitest';
import { oneAhead } from '../../pipeline/runtime/one-ahead.ts';

it('yields in order, and prepares one item ahead of the one in use', async () => {
  const events: string[] = [];
  const prepare = async (item: number) => {
    events.push(`prepare ${item}`);
    return item * 10;
  };
  for await (const result of oneAhead([1, 2, 3], prepare)) events.push(`use ${result}`);
  expect(events).toEqual(['prepare 1', 'prepare 2', 'use 10', 'prepare 3', 'use 20', 'use 30']);
});

it('a failure is reported in its turn', async () => {
  const used: number[] = [];
  const prepare = async (item: number) => {
    if (item === 2) throw new Error('no 2');
    return item;
  };
  const use = async () => {
    for await (const result of oneAhead([1, 2, 3], prepare)) used.push(result);
  };
  await expect(use()).rejects.toThrow('no 2');
  expect(used).toEqual([1]);
});

it('nothing to prepare yields nothing', async () => {
  for await (const _ of oneAhead([], async () => 1)) expect.unreachable();
});
