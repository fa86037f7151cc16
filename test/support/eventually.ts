import { expect } from 'vitest';

/** `await eventually(read).toEqual(…)`: what it reads in the end; between two states it may read either. */
export const eventually = <T>(read: () => Promise<T> | T) => expect.poll(read, { timeout: 900_000 });
