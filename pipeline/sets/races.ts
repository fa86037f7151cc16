/**
 * Two owners of one slot, one of which does not know that it has been replaced.
 *
 * Every attempt reads the manifests, then asks the fence, then writes with a compare-and-set. Whatever the next owner does after
 * the fence was asked raises a version that was read before, so the write fails; whatever it did earlier, the fence knows.
 * Asking only after a lost race would not do: an owner that wakes up after a drop reads the empty set, and wins.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ContendedError, FencedError } from './errors.ts';

/** True while nobody else can have written what the caller is about to write to. */
export type Fence = () => Promise<boolean>;

const ATTEMPTS = 30;
const MAX_WAIT_MS = 200;

/** Tries until every item has a result. `attempt` gives undefined for each item that lost a race. */
export async function settleAll<Item, Result>(
  items: Item[],
  fence: Fence,
  attempt: (items: Item[]) => Promise<(Result | undefined)[]>,
): Promise<Result[]> {
  const results: (Result | undefined)[] = items.map(() => undefined);
  let open = items.map((_, i) => i);
  for (let round = 1; open.length > 0; round++) {
    const outcome = await attempt(open.map((i) => items[i]!));
    for (const [position, i] of open.entries()) results[i] = outcome[position];
    open = open.filter((i) => results[i] === undefined);
    if (open.length > 0) await afterLoss(round, fence);
  }
  return results as Result[];
}

/** As settleAll, for a reader: it has nothing to fence. */
export async function settle<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  const [result] = await settleAll(
    [0],
    async () => true,
    async () => [await attempt()],
  );
  return result!;
}

/** To be asked between reading what is there and writing what follows from it. */
export async function requireOwnership(fence: Fence): Promise<void> {
  if (!(await fence())) throw new FencedError();
}

async function afterLoss(round: number, fence: Fence): Promise<void> {
  await requireOwnership(fence);
  if (round === ATTEMPTS) throw new ContendedError(round);
  // What beat us may not be visible to majority reads yet; and two that collide should not do so in step.
  await sleep(Math.random() * Math.min(2 ** round, MAX_WAIT_MS));
}
