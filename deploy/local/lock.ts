/** A lock between processes: a file that names its holder. The lock of a dead process is released. */
import { linkSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { identify, isRunning, type ProcessIdentity } from './process-identity.ts';
import { poll } from './wait.ts';

const stealerMayTakeMs = 5_000;

/** Creates the file atomically, so that no reader sees a half-written holder. */
function createExclusively(path: string): boolean {
  const own = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(own, JSON.stringify(identify(process.pid)));
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    unlinkSync(own);
  }
}

export function holderOf(path: string): ProcessIdentity | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity;
    return isRunning(holder) ? holder : undefined;
  } catch {
    return undefined;
  }
}

/** Removing a dead holder's file needs a lock itself: otherwise, of two processes, the second could remove the new lock of the first. */
function removeDeadHolder(path: string): void {
  const stealing = `${path}.stealing`;
  if (createExclusively(stealing)) {
    if (holderOf(path) === undefined) rmSync(path, { force: true });
    rmSync(stealing, { force: true });
    return;
  }
  const age = Date.now() - (statSync(stealing, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (age > stealerMayTakeMs) rmSync(stealing, { force: true });
}

const heldForLife = new Set<string>();

/** Holds the lock until this process ends; false if another running process holds it. */
export function holdForLife(path: string): boolean {
  if (heldForLife.has(path)) return true;
  if (holderOf(path) === undefined) removeDeadHolder(path);
  if (!createExclusively(path)) return false;
  if (heldForLife.size === 0)
    process.once('exit', () => {
      for (const held of heldForLife) rmSync(held, { force: true });
    });
  heldForLife.add(path);
  return true;
}

export async function withLock<T>(
  path: string,
  work: () => Promise<T>,
  { onWait, signal }: { onWait?: (holder: ProcessIdentity) => void; signal?: AbortSignal } = {},
): Promise<T> {
  let told = false;
  await poll(
    () => {
      if (createExclusively(path)) return true;
      const holder = holderOf(path);
      if (holder === undefined) removeDeadHolder(path);
      else if (!told) {
        told = true;
        onWait?.(holder);
      }
      return false;
    },
    { deadlineMs: Number.POSITIVE_INFINITY, everyMs: 100, signal },
  );
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}
