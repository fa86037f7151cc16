import { expect, it } from 'vitest';
import { countFailures } from '../../pipeline/engine/failures.ts';

it('failures count although their messages differ, and the last one is the reason', () => {
  const failures = countFailures();
  for (const token of ['a1', 'b2', 'c3']) failures.add(new RangeError(`page ${token} is too large`));
  expect([failures.count, failures.reason]).toEqual([3, 'RangeError: page c3 is too large']);
});
