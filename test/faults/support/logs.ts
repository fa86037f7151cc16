import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** A folder for the process logs of one test; removed after the run. */
export const newLogFolder = () => mkdtempSync(join(inject('scratch'), 'faults-'));
