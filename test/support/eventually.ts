import { expect } from 'vitest';
import { WAIT_MS } from './wait-for.ts';

/** `await eventually(read).toEqual(…)`: what it reads in the end; between two states it may read either. */
export const eventually = <T>(read: () => Promise<T> | T) => expect.poll(read, { timeout: WAIT_MS });
