/** Whose stack it is: only its owner's end stops it. */
import { holderOf, holdForLife } from './lock.ts';
import type { ProcessName } from './names.ts';
import { ownerLock, prepareStateFolder, readState } from './state.ts';
import { runningProcess } from './supervise.ts';

/** A stack that somebody else has started. */
export interface OthersStack {
  /** The headrace in whose terminal it runs; undefined if it runs in the background. */
  readonly pid?: number;
}

function isAnythingRunning(directory: string): boolean {
  const folder = readState(directory);
  const names = Object.keys(folder?.state.processes ?? {}) as ProcessName[];
  return names.some((name) => 'container' in folder!.state.processes[name]! || runningProcess(folder!, name));
}

/** Makes the stack ours until this process ends. If it is somebody else's, says whose. What an owner that died has left is ours. */
export function ownStack(directory: string): OthersStack | undefined {
  prepareStateFolder(directory);
  const lock = ownerLock(directory);
  if (!holdForLife(lock)) return { pid: holderOf(lock)?.pid };
  return readState(directory)?.state.detached && isAnythingRunning(directory) ? {} : undefined;
}

export const hasOwner = (directory: string): boolean => holderOf(ownerLock(directory)) !== undefined;
