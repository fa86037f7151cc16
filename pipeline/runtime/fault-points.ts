/**
 * Places at which a test lets this process die, freeze, fail or lose a message (`skip`, where the caller heeds it): before and after each write, produce and offset commit. Armed by the
 * environment of the process alone (FAULT_POINT=sink:before-manifest:2:kill is the second time that one is reached; each thread counts
 * for itself, so one that is to stop may do so once a thread); a call of an empty function otherwise. What `before` one step is
 * `after` the one above it, so each place has one name.
 */
import { writeSync } from 'node:fs';

export const faultPoints = {
  api: [
    'api:after-claim',
    'api:before-insert',
    'api:after-insert',
    'api:after-publish',
    'api:before-answer',
    'api:after-keep-answer',
    'api:before-clear',
    'api:after-clear',
  ],
  dispatch: [
    'dispatch:before-listing',
    'dispatch:after-listing',
    'dispatch:after-freeze',
    'dispatch:before-mark-running',
    'dispatch:before-hand-out',
    'dispatch:after-hand-out',
    'dispatch:before-decide',
    'dispatch:after-decide',
    'dispatch:before-cancel',
    'dispatch:after-cancel',
    'dispatch:before-check',
    'dispatch:after-check',
    'dispatch:before-attempt',
    'dispatch:after-attempt',
    'dispatch:before-seal',
    'dispatch:after-seal',
    'dispatch:before-markers',
    'dispatch:after-markers',
    'dispatch:before-duplicates',
    'dispatch:before-audience',
    'dispatch:after-audience',
    'dispatch:before-end',
    'dispatch:after-end',
    'dispatch:after-forget',
    'dispatch:before-status',
    'dispatch:after-status',
    'dispatch:before-offsets',
    'dispatch:after-offsets',
  ],
  split: ['split:before-send', 'split:after-send', 'split:before-offsets', 'split:after-offsets'],
  validate: [
    'validate:before-devices',
    'validate:after-devices',
    'validate:before-keep-rejects',
    'validate:before-send-rejects',
    'validate:after-rejects',
    'validate:before-ledger',
    'validate:after-ledger',
    'validate:before-offsets',
    'validate:after-offsets',
  ],
  sink: [
    'sink:collect',
    'sink:before-answer',
    'sink:after-answer',
    'sink:before-spill',
    'sink:after-spill',
    'sink:before-chunks',
    'sink:before-manifest',
    'sink:after-manifest',
    'sink:before-ack',
    'sink:after-ack',
    'sink:after-forget-spills',
    'sink:before-count-deleted',
    'sink:after-count-deleted',
    'sink:before-drop',
    'sink:after-drop',
    'sink:after-advance',
    'sink:before-offsets',
    'sink:after-offsets',
  ],
} as const;

export type FaultPoint = (typeof faultPoints)[keyof typeof faultPoints][number];

const signals = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const;
type Reached = (name: FaultPoint) => 'skip' | undefined;

const actions = ['kill', 'stop', 'skip', 'fail'] as const;

function parseOrder(order: string) {
  const [stage, place, nth, given] = order.split(':');
  const name = `${stage}:${place}`;
  const action = actions.find((known) => known === given);
  const known = Object.values(faultPoints).flat() as string[];
  if (!known.includes(name) || !(Number(nth) > 0) || !action)
    throw new Error(`FAULT_POINT=${order}: expected a point, which time, and one of ${actions.join(', ')}`);
  return { order, name, action, left: Number(nth) };
}

/** Several orders are separated by commas. */
function arm(orders: string): Reached {
  const armed = orders.split(',').map(parseOrder);
  return (reached) => {
    const due = armed.filter((one) => one.name === reached && --one.left === 0)[0];
    if (!due) return undefined;
    writeSync(2, `FAULT_POINT=${due.order}\n`);
    if (due.action === 'skip') return 'skip';
    if (due.action === 'fail') throw new Error('a fault point was told to fail');
    process.kill(process.pid, signals[due.action]);
    return undefined;
  };
}

export const faultPoint: Reached = process.env.FAULT_POINT ? arm(process.env.FAULT_POINT) : () => undefined;
