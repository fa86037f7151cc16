/**
 * A step is one external effect of a stage: a write or a send. `step(name, work)` wraps it in two fault points and retries transient
 * failures. It belongs to one delivery, or to one term of the active dispatcher, and is aborted when that ends. A stage declares the
 * names of its steps.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { linkedAbort } from '../runtime/deadline.ts';
import { faultPoint } from './fault-points.ts';
import type { Retry } from './retry.ts';

export interface Step<Name extends string = string> {
  <T>(name: Name, work: () => Promise<T>): Promise<T>;
  /** A look-up: retried like a step. It changes nothing, so it has no fault points. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** Long work, aborted (undefined) once it is no longer wanted. Its own step is aborted with it. */
  whileWanted<T>(
    what: string,
    isWanted: () => Promise<boolean>,
    work: (step: Step<Name>) => Promise<T>,
  ): Promise<T | undefined>;
  pause(ms: number): Promise<void>;
  /** The same step with another signal. */
  until(signal: AbortSignal): Step<Name>;
  /** Aborted when the delivery or the term ends. */
  readonly signal: AbortSignal;
}

export function createStep<Name extends string>(
  stage: string,
  retry: Retry,
  signal: AbortSignal,
): Step<Name> {
  async function step<T>(name: Name, work: () => Promise<T>): Promise<T> {
    // Tests skip a step to lose a message, only where the result is unused.
    if (faultPoint(`${stage}:before-${name}`) === 'skip') return undefined as T;
    const result = await retry(name, work, signal);
    faultPoint(`${stage}:after-${name}`);
    return result;
  }
  return Object.assign(step, {
    signal,
    read: <T>(what: string, work: () => Promise<T>) => retry(what, work, signal),
    whileWanted: <T>(
      what: string,
      isWanted: () => Promise<boolean>,
      work: (step: Step<Name>) => Promise<T>,
    ) =>
      retry(
        what,
        () => whileWanted(signal, isWanted, (each) => work(createStep(stage, retry, each))),
        signal,
      ),
    pause: (ms: number) => sleep(ms, undefined, { signal }),
    until: (other: AbortSignal) => createStep<Name>(stage, retry, other),
  });
}

const CHECK_MS = 1_000;

/** Aborts work that is no longer wanted, even if it is blocked; then undefined. */
async function whileWanted<T>(
  signal: AbortSignal,
  isWanted: () => Promise<boolean>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const { controller, unlink } = linkedAbort(signal);
  let isUnwanted = false;
  const timer = setInterval(() => {
    isWanted().then(
      (wanted) => {
        isUnwanted ||= !wanted;
        if (!wanted) controller.abort(new Error('no longer wanted'));
      },
      // The check failed: continue.
      () => {},
    );
  }, CHECK_MS);
  try {
    return await work(controller.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnwanted) return undefined;
    throw error;
  } finally {
    clearInterval(timer);
    unlink();
  }
}
