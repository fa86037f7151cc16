/**
 * Places before and after each step where a test kills or freezes this process, makes it fail, or loses a message (`skip`). Armed only
 * by the environment: FAULT_POINT=sink:before-manifest:2:kill fires the second time the point is reached, `2+` every time from the
 * second on; sink:before-gather@7 counts only job 7. Each thread counts separately. Not armed, a fault point is a no-op.
 */
import { writeSync } from 'node:fs';

export type PointOf<Owner extends string, Step extends string> = Owner extends string
  ? Step extends string
    ? `${Owner}:${'before' | 'after'}-${Step}`
    : never
  : never;
/** `job`: the job being worked on, if known. */
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

function isDue(point: Armed, name: string, job: number | undefined): boolean {
  if (point.name !== name || (point.job !== undefined && point.job !== job)) return false;
  return --point.left === 0 || (point.again && point.left < 0);
}

/** Comma-separated. */
const armed = process.env.FAULT_POINT ? process.env.FAULT_POINT.split(',').map(parseOrder) : [];

function reach(reached: string, job?: number): 'skip' | undefined {
  const due = armed.filter((point) => isDue(point, reached, job))[0];
  if (!due) return undefined;
  writeSync(2, `FAULT_POINT=${due.order}\n`);
  if (due.action === 'skip') return 'skip';
  if (due.action === 'fail') throw new Error('a fault point was told to fail');
  process.kill(process.pid, signals[due.action]);
  // The signal may be delivered to another thread first: block until it takes effect.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_MS);
  return undefined;
}

/** Each caller narrows the type to the points it declares. */
export const faultPoint: Reach<string> = armed.length > 0 ? reach : () => undefined;

/** Refuses an unknown point, which would never fire. */
export function requireKnownPoints(known: readonly string[]): void {
  const owners = new Set(known.map((point) => point.split(':')[0]));
  const unknown = armed.find(({ name }) => owners.has(name.split(':')[0]) && !known.includes(name));
  if (unknown) throw new Error(`FAULT_POINT=${unknown.order}: there is no such point`);
}
