/**
 * A step is what a stage does to the outside: one write, one send. `step(name, work)` adds a fault point before it, retry while the
 * failure is transient, and a fault point after it. It belongs to one delivery, or to one term of the active dispatcher, and ends with
 * it. A stage declares the names of its steps.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { faultPoint } from './fault-points.ts';
import type { Retry } from './retry.ts';
import { whileWanted } from './while-wanted.ts';

export interface Step<Name extends string = string> {
  <T>(name: Name, work: () => Promise<T>): Promise<T>;
  /** A look-up: retried like a step, without fault points, because it changes nothing. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** Long work, abandoned (undefined) once it is not wanted; it gets a step that ends with it. */
  whileWanted<T>(
    what: string,
    isWanted: () => Promise<boolean>,
    work: (step: Step<Name>) => Promise<T>,
  ): Promise<T | undefined>;
  pause(ms: number): Promise<void>;
  /** The same step with another end. */
  until(signal: AbortSignal): Step<Name>;
  /** Aborted when the delivery or the term is over. */
  readonly signal: AbortSignal;
}

export function createStep<Name extends string>(
  stage: string,
  retry: Retry,
  signal: AbortSignal,
): Step<Name> {
  async function step<T>(name: Name, work: () => Promise<T>): Promise<T> {
    // Skipped only by tests that lose a message on purpose, in steps whose result is not used.
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
