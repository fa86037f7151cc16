/**
 * Places at which a test lets this process die, freeze or lose a message (`skip`, where the caller heeds it): before and after each write, produce and offset commit. Armed by the
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

function armOne(order: string): Reached {
  const [stage, place, nth, action] = order.split(':');
  const name = `${stage}:${place}`;
  const known = Object.values(faultPoints).flat() as string[];
  if (!known.includes(name) || !(Number(nth) > 0) || !['kill', 'stop', 'skip'].includes(action ?? ''))
    throw new Error(`FAULT_POINT=${order}: expected a point, which time, and kill, stop or skip`);
  let left = Number(nth);
  return (reached) => {
    if (reached !== name || --left !== 0) return undefined;
    writeSync(2, `FAULT_POINT=${order}\n`);
    if (action === 'skip') return 'skip';
    process.kill(process.pid, signals[action as keyof typeof signals]);
    return undefined;
  };
}

/** Several are separated by commas. */
function arm(orders: string): Reached {
  const armed = orders.split(',').map(armOne);
  return (reached) => armed.map((one) => one(reached)).find((answer) => answer !== undefined);
}

export const faultPoint: Reached = process.env.FAULT_POINT ? arm(process.env.FAULT_POINT) : () => undefined;
