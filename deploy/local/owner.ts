/** The owner of a stack: the stack stops when its owner ends. */
import { holderOf, holdForLife } from './lock.ts';
import type { ProcessName } from './names.ts';
import { ownerLock, prepareStateFolder, readState } from './state.ts';
import { runningProcess } from './supervise.ts';

/** A stack started by another process. */
export interface OthersStack {
  /** The headrace in whose terminal it runs; undefined if it runs in the background. */
  readonly pid?: number;
}

function isAnythingRunning(directory: string): boolean {
  const folder = readState(directory);
  const names = Object.keys(folder?.state.processes ?? {}) as ProcessName[];
  return names.some((name) => 'container' in folder!.state.processes[name]! || runningProcess(folder!, name));
}

/** Takes ownership until this process ends, or returns the current owner. A stack whose owner died is free. */
export function ownStack(directory: string): OthersStack | undefined {
  prepareStateFolder(directory);
  const lock = ownerLock(directory);
  if (!holdForLife(lock)) return { pid: holderOf(lock)?.pid };
  return readState(directory)?.state.detached && isAnythingRunning(directory) ? {} : undefined;
}

export const hasOwner = (directory: string): boolean => holderOf(ownerLock(directory)) !== undefined;
