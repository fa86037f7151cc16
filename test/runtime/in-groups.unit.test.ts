import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inGroups, inGroupsAsync, within } from '../../pipeline/runtime/in-groups.ts';

const bytes = 100;
const count = 5;
const limits = within<number>({ bytes, count }, (size) => size);
const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
const sizes = fc.array(fc.nat({ max: 120 }), { maxLength: 50 });

it('loses nothing, keeps the order, and stays within the limits unless one item alone exceeds them', () => {
  fc.assert(
    fc.property(sizes, (items) => {
      const groups = [...inGroups(items, limits)];
      expect(groups.flat()).toEqual(items);
      for (const group of groups) {
        expect(group.length).toBeGreaterThan(0);
        expect(group.length).toBeLessThanOrEqual(count);
        expect(group.length === 1 || sum(group) <= bytes).toBe(true);
      }
      // No group ends early: with the next item it would exceed a limit.
      for (const [i, group] of groups.slice(0, -1).entries())
        expect(group.length === count || sum(group) + groups[i + 1]![0]! > bytes).toBe(true);
    }),
  );
});

it('cuts what comes by and by in the same way', async () => {
  async function* oneByOne(items: number[]) {
    yield* items;
  }
  await fc.assert(
    fc.asyncProperty(sizes, async (items) => {
      const groups: number[][] = [];
      for await (const group of inGroupsAsync(oneByOne(items), limits)) groups.push(group);
      expect(groups).toEqual([...inGroups(items, limits)]);
    }),
  );
});

it('takes no more items than the group that is asked for needs', () => {
  let taken = 0;
  function* counted() {
    for (;;) yield taken++;
  }
  const [first] = inGroups(counted(), within({ count: 3 }));
  expect(first).toEqual([0, 1, 2]);
  expect(taken).toBe(4);
});

it('a rule of the caller’s own cuts as well', () => {
  const noneTwice = () => {
    const seen = new Set<string>();
    return (item: string) => seen.size < seen.add(item).size;
  };
  expect([...inGroups('abcab'.split(''), noneTwice)].map((group) => group.join(''))).toEqual(['abc', 'ab']);
});
