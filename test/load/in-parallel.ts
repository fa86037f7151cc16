import { inParallel as overItems } from '../../pipeline/runtime/in-parallel.ts';

/** Runs `work` for 0 … count-1 with bounded concurrency. */
export const inParallel = (
  count: number,
  atOnce: number,
  work: (number: number) => Promise<void>,
): Promise<void> =>
  overItems(
    Array.from({ length: count }, (_, number) => number),
    atOnce,
    work,
  );
