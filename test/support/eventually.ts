import { expect } from 'vitest';

/** `await eventually(read).toEqual(…)`: polls until the value matches. */
export const eventually = <T>(read: () => Promise<T> | T) => expect.poll(read, { timeout: 900_000 });
