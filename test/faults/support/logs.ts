import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A folder for the logs of the processes of one test; it goes with the run. */
export const newLogFolder = () => mkdtempSync(join(inject('scratch'), 'faults-'));
