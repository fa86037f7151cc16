/**
 * Places at which a test lets this process die, freeze, fail or lose a message (`skip`): before and after each step of each stage, and
 * some of the API's and of webhooks. Armed by the environment of the process alone (FAULT_POINT=sink:before-manifest:2:kill is the
 * second time that one is reached; each thread counts for itself, so one that is to stop may do so once a thread. 2+ is every time
 * from the second on, and sink:before-gather@7 counts job 7 alone); a call of an empty function otherwise.
 */
import { writeSync } from 'node:fs';
import type { StageName } from '../../schemas/stages.ts';

/** The steps of each stage, about in the order in which they are taken. `offsets` is the commit of offsets. */
export const stepNames = {
  dispatch: [
    'republish',
    'make-audience',
    'listing',
    'listing-page',
    'freeze',
    'forget-lists',
    'mark-running',
    'publish-files',
    'decide-files',
    'progress',
    'cancel',
    'verdict',
    'prepare',
    'attempt',
    'decide',
    'number-events',
    'commit',
    'stop',
    'defer',
    'duplicates',
    'fail-files',
    'audience',
    'count-attributes',
    'count-usage',
    'count-deferred',
    'end',
    'status',
    'forget',
    'offsets',
  ],
  split: ['send', 'give-up', 'offsets'],
  validate: ['devices', 'keep-rejects', 'send-rejects', 'ledger', 'give-up', 'offsets'],
  sink: [
    'spill',
    'vote',
    'merge',
    'gather',
    'pages',
    'manifest',
    'outcome',
    'ack',
    'forget-spills',
    'remove-keys',
    'drop',
    'offsets',
  ],
} as const satisfies Record<StageName, readonly string[]>;

export type StepName<S extends StageName = StageName> = (typeof stepNames)[S][number];
type StagePoint<S extends StageName = StageName> = S extends StageName
  ? `${S}:${'before' | 'after'}-${StepName<S>}`
  : never;

const apiPoints = [
  'api:after-claim',
  'api:before-insert',
  'api:after-insert',
  'api:after-publish',
  'api:before-answer',
  'api:after-keep-answer',
  'api:before-change',
  'api:after-change',
] as const;
/** Reached only where there are webhooks. */
export const webhookPoints = [
  'webhooks:before-record',
  'webhooks:after-record',
  'webhooks:after-pass',
  'webhooks:before-post',
  'webhooks:after-post',
  'webhooks:after-finish',
] as const;
export type FaultPoint = StagePoint | (typeof apiPoints)[number] | (typeof webhookPoints)[number];

const pointsOf = <S extends StageName>(stage: S) =>
  stepNames[stage].flatMap((step) => [`${stage}:before-${step}`, `${stage}:after-${step}`]) as FaultPoint[];
export const faultPoints: Record<StageName | 'api', readonly FaultPoint[]> = {
  api: apiPoints,
  dispatch: pointsOf('dispatch'),
  split: pointsOf('split'),
  validate: pointsOf('validate'),
  sink: pointsOf('sink'),
};

const SIGNAL_MS = 100;
const signals = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const;
/** `job`: whose work it is, where that is known. */
type Reached = (name: FaultPoint, job?: number) => 'skip' | undefined;

const actions = ['kill', 'stop', 'skip', 'fail'] as const;

function parseOrder(order: string) {
  const [stage, place = '', nth = '', given] = order.split(':');
  const [step, job] = place.split('@');
  const name = `${stage}:${step}`;
  const action = actions.find((known) => known === given);
  const known: readonly string[] = [...Object.values(faultPoints).flat(), ...webhookPoints];
  const left = Number.parseInt(nth, 10);
  if (!known.includes(name) || !(left > 0) || !action)
    throw new Error(`FAULT_POINT=${order}: expected a point, which time, and one of ${actions.join(', ')}`);
  return {
    order,
    name,
    job: job === undefined ? undefined : Number(job),
    action,
    left,
    again: nth.endsWith('+'),
  };
}
type Armed = ReturnType<typeof parseOrder>;

function isDue(one: Armed, name: FaultPoint, job: number | undefined): boolean {
  if (one.name !== name || (one.job !== undefined && one.job !== job)) return false;
  return --one.left === 0 || (one.again && one.left < 0);
}

/** Several orders are separated by commas. */
function arm(orders: string): Reached {
  const armed = orders.split(',').map(parseOrder);
  return (reached, job) => {
    const due = armed.filter((one) => isDue(one, reached, job))[0];
    if (!due) return undefined;
    writeSync(2, `FAULT_POINT=${due.order}\n`);
    if (due.action === 'skip') return 'skip';
    if (due.action === 'fail') throw new Error('a fault point was told to fail');
    process.kill(process.pid, signals[due.action]);
    // The signal may reach another thread first: this one must not go on meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_MS);
    return undefined;
  };
}

export const faultPoint: Reached = process.env.FAULT_POINT ? arm(process.env.FAULT_POINT) : () => undefined;
