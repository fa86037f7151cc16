/** Starts a process (a server, the API or the pipeline) and waits until it is ready. */
import { lastLines, sizeOf, startDetached, stopProcess, textFrom } from './child.ts';
import type { ProcessName } from './names.ts';
import {
  choosePort,
  claimExactly,
  defaultPorts,
  type ExactPorts,
  type PortName,
  type Ports,
} from './ports.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';
import { type Report, StartError } from './start-error.ts';
import type { Running, StateFolder } from './state.ts';
import { poll } from './wait.ts';

/** One call of `up`: its state folder, and the processes started so far, which are stopped on failure. */
export interface Run {
  readonly folder: StateFolder;
  readonly report: Report;
  readonly signal: AbortSignal;
  /** The preferred ports instead of the defaults; 0 means any free port. */
  readonly wantedPorts: Partial<Ports>;
  /** Ports without an alternative: if one is in use, the start fails. */
  readonly exactPorts: ExactPorts;
  readonly started: Set<ProcessName>;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string | undefined>;
}

/** Generous, for busy machines; a process that exits is noticed at once. */
export const START_MS = 300_000;

export interface Startable {
  readonly name: ProcessName;
  readonly ports: readonly PortName[];
  /** Other processes get these ports at their start, so they cannot be changed later. */
  readonly portsAreFixed?: boolean;
  /** Called once the ports are chosen; creates the folders and files that the process needs. */
  prepare(folder: StateFolder): Promise<Command>;
  answers(folder: StateFolder): Promise<boolean>;
  readonly deadlineMs: number;
}

const servicePorts: ReadonlySet<PortName> = new Set<PortName>(['api', 'apiMetrics', 'pipeline']);
export const portIsTaken = /address already in use|EADDRINUSE|Address in use|port is already allocated/i;
export const attempts = 3;

export function runningProcess(folder: StateFolder, name: ProcessName): ProcessIdentity | undefined {
  const known: Running | undefined = folder.state.processes[name];
  return known && 'started' in known && isRunning(known) ? known : undefined;
}

/**
 * Servers keep the port of their last start, because their data and other members may refer to it. Our own processes return to the
 * default port once it is free again, because users expect it.
 */
function candidatesFor(run: Run, name: PortName): number[] {
  const preset = run.wantedPorts[name] ?? defaultPorts[name];
  const last = run.folder.state.ports[name] ?? 0;
  const inOrder = servicePorts.has(name) ? [preset, last] : [last, preset];
  return inOrder.filter((port) => port !== 0);
}

async function settlePort(run: Run, name: PortName, lostPort: number | undefined): Promise<number> {
  const others = Object.entries(run.folder.state.ports).filter(([other]) => other !== name);
  const taken = new Set(others.map(([, port]) => port));
  const exact = run.exactPorts[name];
  if (exact) return claimExactly(exact, taken);
  const candidates = lostPort === undefined ? candidatesFor(run, name) : [];
  const wanted = lostPort ?? candidates[0];
  const port = await choosePort(candidates, taken);
  if (wanted !== undefined && port !== wanted)
    run.report(`port ${wanted} is in use: ${name} gets port ${port}`);
  return port;
}

/** `areLost`: the ports were taken since they were chosen. */
export async function settlePorts(run: Run, names: readonly PortName[], areLost = false): Promise<void> {
  const { ports } = run.folder.state;
  for (const name of names) ports[name] = await settlePort(run, name, areLost ? ports[name] : undefined);
  run.folder.save();
}

async function startOnce(run: Run, startable: Startable): Promise<'answers' | 'port taken'> {
  const { folder, signal } = run;
  const { name } = startable;
  const { command, args, env } = await startable.prepare(folder);
  signal.throwIfAborted();
  const log = folder.log(name);
  const logged = sizeOf(log);
  const process = startDetached(command, args, { log, env });
  folder.state.processes[name] = process;
  folder.save();
  run.started.add(name);
  const outcome = await poll(
    async () => {
      if (!isRunning(process)) return 'died';
      return (await startable.answers(folder)) ? 'answers' : undefined;
    },
    { deadlineMs: startable.deadlineMs, signal },
  );
  if (outcome === 'answers') return outcome;
  await stopProcess(process, 2_000);
  delete folder.state.processes[name];
  folder.save();
  if (outcome === 'died' && portIsTaken.test(textFrom(log, logged))) return 'port taken';
  const what =
    outcome === 'died' ? 'exited during startup' : `was not ready within ${startable.deadlineMs / 1000} s`;
  throw new StartError('did_not_start', `${name} ${what}. The end of ${log}:\n${lastLines(log)}`);
}

/** Does nothing if the process is running and ready. */
export async function ensureRunning(run: Run, startable: Startable): Promise<void> {
  const { folder, report } = run;
  const { name } = startable;
  const since = Date.now();
  const running = runningProcess(folder, name);
  if (running) {
    const answered = await poll(() => startable.answers(folder), {
      deadlineMs: startable.deadlineMs,
      signal: run.signal,
    });
    if (answered) return report(`${name} is already running (pid ${running.pid})`);
    report(`${name} (pid ${running.pid}) does not respond: restarting it`);
    await stopProcess(running, 10_000);
  }
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if ((await startOnce(run, startable)) === 'answers') {
      const ports = startable.ports.map((port) => folder.state.ports[port]).join(', ');
      return report(`${name} is ready on port ${ports} after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    }
    if (startable.portsAreFixed || startable.ports.some((port) => run.exactPorts[port]?.port))
      throw new StartError(
        'port_taken',
        `the port of ${name} was taken by another process during the start: start again`,
      );
    // Another process took the port between our check and the server's bind.
    await settlePorts(run, startable.ports, true);
  }
  throw portWasTaken(name);
}

export const portWasTaken = (name: ProcessName): StartError =>
  new StartError(
    'port_taken',
    `${name} could not bind a port in ${attempts} attempts, because other processes took them: start again`,
  );
