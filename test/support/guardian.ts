/**
 * Stops the servers of a test run that ended without stopping them: vitest skips its teardown on Ctrl-C, and a
 * killed process runs none. Exits once the run has released its folder, or once the run is gone and its servers are stopped.
 */
import { existsSync, rmSync } from 'node:fs';
import { holderOf } from '../../deploy/local/lock.ts';
import { poll } from '../../deploy/local/wait.ts';
import { removeStack } from './remove-stack.ts';

const [directory, ownerFile] = process.argv.slice(2) as [string, string];
const forever = Number.POSITIVE_INFINITY;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
await poll(() => !existsSync(ownerFile) || holderOf(ownerFile) === undefined, {
  deadlineMs: forever,
  everyMs: 300,
});
if (existsSync(ownerFile)) {
  await removeStack(directory);
  rmSync(ownerFile, { force: true });
}
