/** The local stack as a whole: starts and stops it under the lock of its state folder. */
import { existsSync, rmSync } from 'node:fs';
import type { ServerAddresses } from './addresses.ts';
import { stopProcess } from './child.ts';
import { withLock } from './lock.ts';
import { type ProcessName, stopOrder } from './names.ts';
import { hasOwner } from './owner.ts';
import type { ExactPorts, Ports } from './ports.ts';
import { type ServerOptions, startServers } from './servers.ts';
import type { Report } from './start-error.ts';
import { openState, prepareStateFolder, readState, type StateFolder, stateLock } from './state.ts';
import { type Run, runningProcess } from './supervise.ts';

interface StackOptions extends Partial<ServerOptions> {
  readonly directory: string;
  readonly report: Report;
  readonly signal?: AbortSignal;
  readonly wantedPorts?: Partial<Ports>;
  readonly exactPorts?: ExactPorts;
  /** Keep the stack running in the background, unless it has an owner. */
  readonly detached?: boolean;
}

export interface Stack {
  readonly folder: StateFolder;
  readonly addresses: ServerAddresses;
}

/**
 * Starts the servers that are not running, then calls `next`. On failure, stops only the processes that this call has started.
 */
export async function bringUp(
  options: StackOptions,
  next?: (run: Run, stack: Stack) => Promise<void>,
): Promise<Stack> {
  const { directory, report } = options;
  const signal = options.signal ?? new AbortController().signal;
  prepareStateFolder(directory);
  const onWait = () => report(`waiting for another headrace process that is using ${directory}`);
  const work = async () => {
    const folder = openState(directory);
    const { wantedPorts = {}, exactPorts = {} } = options;
    const run: Run = { folder, report, signal, wantedPorts, exactPorts, started: new Set() };
    try {
      const servers = await startServers(run, { ...options, env: options.env ?? process.env });
      const stack = { folder, addresses: servers };
      await next?.(run, stack);
      if (options.detached && !hasOwner(directory)) {
        folder.state.detached = true;
        folder.save();
      }
      return stack;
    } catch (error) {
      await stopProcesses(folder, report, { which: run.started });
      throw error;
    }
  };
  return withLock(stateLock(directory), work, { onWait, signal });
}

/** With `purge`, returns the deleted folder. */
export async function takeDown(
  directory: string,
  report: Report,
  { purge = false } = {},
): Promise<string | undefined> {
  if (readState(directory) === undefined) return undefined;
  return withLock(stateLock(directory), async () => {
    const folder = readState(directory);
    if (folder === undefined) return undefined;
    await stopProcesses(folder, report, { killServers: purge });
    delete folder.state.detached;
    folder.save();
    if (!purge) return undefined;
    if (folder.state.runtime === 'docker') await (await import('./docker.ts')).removeContainers(folder);
    if (existsSync(folder.directory)) rmSync(folder.directory, { recursive: true });
    return folder.directory;
  });
}

const stopDeadlineMs: Record<(typeof stopOrder)[number][0], number> = {
  api: 30_000,
  pipeline: 30_000,
  kafka: 120_000,
  s3: 30_000,
  mongod: 120_000,
};

async function stopOne(
  folder: StateFolder,
  name: ProcessName,
  { deadlineMs, report }: { deadlineMs: number; report: Report },
): Promise<void> {
  const known = folder.state.processes[name];
  const running = runningProcess(folder, name);
  if (known && ('container' in known || running)) {
    const clean = await ('container' in known
      ? (await import('./docker.ts')).stopContainer(known.container, deadlineMs)
      : stopProcess(known, deadlineMs));
    report(
      clean || deadlineMs === 0
        ? `${name} stopped`
        : `${name} did not stop within ${deadlineMs / 1000} s and was killed`,
    );
  }
  delete folder.state.processes[name];
  folder.save();
}

/**
 * In flow order, so that each process can finish its work with its servers still running. Brokers stop in parallel, and so do members:
 * otherwise the last one of a cluster would wait for a majority.
 */
async function stopProcesses(
  folder: StateFolder,
  report: Report,
  {
    which,
    killServers = false,
  }: {
    which?: ReadonlySet<ProcessName>;
    /** Skips the clean shutdown, if the data is deleted anyway. */
    killServers?: boolean;
  } = {},
): Promise<void> {
  for (const group of stopOrder) {
    const [kind] = group;
    const isOurs = kind === 'api' || kind === 'pipeline';
    const deadlineMs = killServers && !isOurs ? 0 : stopDeadlineMs[kind];
    const names = group.filter((name) => which?.has(name) ?? true);
    await Promise.all(names.map((name) => stopOne(folder, name, { deadlineMs, report })));
  }
}
