/**
 * Places at which a test makes this process die, freeze, fail or lose a message (`skip`): before and after each step. Armed by the
 * environment alone: FAULT_POINT=sink:before-manifest:2:kill is the second time that the point is reached, 2+ every time from the
 * second on, sink:before-gather@7 counts job 7 alone. Each thread counts for itself. Otherwise a call of an empty function.
 */
import { writeSync } from 'node:fs';

export type PointOf<Owner extends string, Step extends string> = Owner extends string
  ? Step extends string
    ? `${Owner}:${'before' | 'after'}-${Step}`
    : never
  : never;
/** `job`: whose work it is, where that is known. */
export type Reach<Point extends string> = (name: Point, job?: number) => 'skip' | undefined;

/** The points around the steps of a stage. */
export const pointsOf = <O extends string, S extends string>(owner: O, steps: readonly S[]) =>
  steps.flatMap((step) => [`${owner}:before-${step}`, `${owner}:after-${step}`]) as PointOf<O, S>[];

const SIGNAL_MS = 100;
const signals = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const;
const actions = ['kill', 'stop', 'skip', 'fail'] as const;

function parseOrder(order: string) {
  const [stage, place = '', nth = '', given] = order.split(':');
  const [step, job] = place.split('@');
  const action = actions.find((known) => known === given);
  const left = Number.parseInt(nth, 10);
  if (!(left > 0) || !action)
    throw new Error(`FAULT_POINT=${order}: expected a point, which time, and one of ${actions.join(', ')}`);
  return {
    order,
    name: `${stage}:${step}`,
    job: job === undefined ? undefined : Number(job),
    action,
    left,
    again: nth.endsWith('+'),
  };
}
type Armed = ReturnType<typeof parseOrder>;

function isDue(one: Armed, name: string, job: number | undefined): boolean {
  if (one.name !== name || (one.job !== undefined && one.job !== job)) return false;
  return --one.left === 0 || (one.again && one.left < 0);
}

/** Several orders are separated by commas. */
const armed = process.env.FAULT_POINT ? process.env.FAULT_POINT.split(',').map(parseOrder) : [];

function reach(reached: string, job?: number): 'skip' | undefined {
  const due = armed.filter((one) => isDue(one, reached, job))[0];
  if (!due) return undefined;
  writeSync(2, `FAULT_POINT=${due.order}\n`);
  if (due.action === 'skip') return 'skip';
  if (due.action === 'fail') throw new Error('a fault point was told to fail');
  process.kill(process.pid, signals[due.action]);
  // The signal may reach another thread first: this one must not continue meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_MS);
  return undefined;
}

/** Typed by the caller with the points that it declares. */
export const faultPoint: Reach<string> = armed.length > 0 ? reach : () => undefined;

/** Refuses an order for a point that does not exist: it would never be carried out. */
export function requireKnownPoints(known: readonly string[]): void {
  const owners = new Set(known.map((point) => point.split(':')[0]));
  const unknown = armed.find(({ name }) => owners.has(name.split(':')[0]) && !known.includes(name));
  if (unknown) throw new Error(`FAULT_POINT=${unknown.order}: there is no such point`);
}
