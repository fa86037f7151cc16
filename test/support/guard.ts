/** Ties servers to this process: if it dies without stopping them, a guardian process does. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { withLock } from '../../deploy/local/lock.ts';

const guardian = fileURLToPath(new URL('./guardian.ts', import.meta.url));

/** Returns the release, to be called once the folder's servers are stopped. */
export function guard(directory: string): () => Promise<void> {
  const owner = `${directory}.owner`;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = withLock(owner, () => released);
  const args = ['--import', 'tsx', guardian, directory, owner];
  spawn(process.execPath, args, { detached: true, stdio: 'ignore' }).unref();
  return async () => {
    release();
    await held;
  };
}
