/** Several small files share a place in the window. */
import { expect, it } from 'vitest';
import { takeThatFit } from '../../pipeline/stages/dispatch/load/file-window.ts';

const files = (count: number, size: number) =>
  Array.from({ length: count }, () => ({ size, batchBytes: 100 }));

it('large files take a place each, small ones a part of one, and their order is kept', () => {
  expect(takeThatFit(files(10, 5_000), 4)).toHaveLength(4);
  expect(takeThatFit(files(500, 1), 4)).toHaveLength(64);
  expect(takeThatFit(files(10, 50), 4)).toHaveLength(8);
  const mixed = [...files(1, 1), ...files(3, 5_000), ...files(50, 1)];
  expect(takeThatFit(mixed, 2)).toEqual(mixed.slice(0, 2));
  expect(takeThatFit(files(3, 1), 4)).toHaveLength(3);
});
