import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Removed after the test. */
export function temporaryFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-folder-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
