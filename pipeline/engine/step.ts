/**
 * A step is what a stage does to the outside: one write, one send. `step(name, work)` brings what every step needs: a fault point
 * before it, retry while the failure is transient, a fault point after it. It belongs to one delivery, or to one term of the active
 * dispatcher, and ends with it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StageName } from '../../schemas/stages.ts';
import { type FaultPoint, faultPoint, type StepName } from './fault-points.ts';
import type { Retry } from './retry.ts';
import { whileWanted } from './while-wanted.ts';

export interface Step<S extends StageName = StageName> {
  <T>(name: StepName<S>, work: () => Promise<T>): Promise<T>;
  /** Something looked up: retried like a step, but a process that dies here has changed nothing. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>;
  /** Long work, given up (undefined) once nobody wants it any more; it gets a step that ends with it. */
  whileWanted<T>(
    what: string,
    isWanted: () => Promise<boolean>,
    work: (step: Step<S>) => Promise<T>,
  ): Promise<T | undefined>;
  pause(ms: number): Promise<void>;
  /** The same step for work that ends otherwise. */
  until(signal: AbortSignal): Step<S>;
  /** Aborted when the delivery or the term is over. */
  readonly signal: AbortSignal;
}

export function createStep<S extends StageName>(stage: S, retry: Retry, signal: AbortSignal): Step<S> {
  const reach = (when: 'before' | 'after', name: StepName<S>) =>
    faultPoint(`${stage}:${when}-${name}` as FaultPoint);

  async function step<T>(name: StepName<S>, work: () => Promise<T>): Promise<T> {
    // Skipped only by tests that lose a message on purpose, in steps whose result nobody reads.
    if (reach('before', name) === 'skip') return undefined as T;
    const result = await retry(name, work, signal);
    reach('after', name);
    return result;
  }
  return Object.assign(step, {
    signal,
    read: <T>(what: string, work: () => Promise<T>) => retry(what, work, signal),
    whileWanted: <T>(what: string, isWanted: () => Promise<boolean>, work: (step: Step<S>) => Promise<T>) =>
      retry(
        what,
        () => whileWanted(signal, isWanted, (each) => work(createStep(stage, retry, each))),
        signal,
      ),
    pause: (ms: number) => sleep(ms, undefined, { signal }),
    until: (other: AbortSignal) => createStep(stage, retry, other),
  });
}
