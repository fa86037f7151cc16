/** Child processes: servers, which outlive us, and tools, which do not. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import type { Environment } from './addresses.ts';
import { identify, isRunning, type ProcessIdentity, signal as sendSignal } from './process-identity.ts';
import { StartError } from './start-error.ts';
import { poll } from './wait.ts';

/** Starts a process in its own session, so that Ctrl-C reaches only us, and we stop the servers in order. */
export function startDetached(
  command: string,
  args: readonly string[],
  options: { readonly log: string; readonly env?: Environment; readonly cwd?: string },
): ProcessIdentity {
  const log = openSync(options.log, 'a', 0o600);
  try {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.on('error', () => {});
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity === undefined) throw new StartError('cannot_start', `cannot start ${command}`);
    child.unref();
    return identity;
  } finally {
    closeSync(log);
  }
}

/** SIGTERM, then SIGKILL after the deadline; true if no SIGKILL was needed. */
export async function stopProcess(identity: ProcessIdentity, deadlineMs: number): Promise<boolean> {
  if (!sendSignal(identity, 'SIGTERM')) return true;
  if (await poll(() => !isRunning(identity), { deadlineMs, everyMs: 25 })) return true;
  sendSignal(identity, 'SIGKILL', true);
  await poll(() => !isRunning(identity), { deadlineMs: 5_000, everyMs: 25 });
  return false;
}

export const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
export const textFrom = (file: string, offset: number) => readFileSync(file).subarray(offset).toString();

export function lastLines(file: string, count = 15): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
  } catch {
    return '(no log)';
  }
}

/** Runs a tool to its end and returns its output; an abort ends it with all its child processes. */
export async function runTool(
  command: string,
  args: readonly string[],
  options: { readonly env?: Environment; readonly cwd?: string; readonly signal?: AbortSignal } = {},
): Promise<string> {
  options.signal?.throwIfAborted();
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString('utf8')).slice(-200_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  const abort = () => identity && sendSignal(identity, 'SIGTERM', true);
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    options.signal?.throwIfAborted();
    if (code === 0) return output;
    throw new StartError(
      'tool_failed',
      `${command} ${args[0] ?? ''} exited with code ${code}:\n${output.trim().split('\n').slice(-10).join('\n')}`,
    );
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
}
