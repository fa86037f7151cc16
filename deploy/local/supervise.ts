/** Starting one process and waiting until it answers; the same for the three servers and for our own two. */
import { lastLines, sizeOf, startDetached, stopProcess, textFrom } from './child.ts';
import type { ProcessName } from './names.ts';
import { choosePort, defaultPorts, type PortName, type Ports } from './ports.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';
import { type Report, StartError } from './start-error.ts';
import type { Running, StateFolder } from './state.ts';
import { poll } from './wait.ts';

/** One call of `up`: what it works on, and what it has started so far and would stop if it fails. */
export interface Run {
  readonly folder: StateFolder;
  readonly report: Report;
  readonly signal: AbortSignal;
  /** The ports wanted where nothing is remembered; 0 is any free one. */
  readonly wantedPorts: Partial<Ports>;
  readonly started: Set<ProcessName>;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string | undefined>;
}

export interface Startable {
  readonly name: ProcessName;
  readonly ports: readonly PortName[];
  /** Others are told these ports when they start: there is no moving on to other ones. */
  readonly portsAreFixed?: boolean;
  /** Called with the ports settled; makes folders and files it needs. */
  prepare(folder: StateFolder): Promise<Command>;
  answers(folder: StateFolder): Promise<boolean>;
  readonly deadlineMs: number;
}

const portIsTaken = /address already in use|EADDRINUSE|Address in use/i;
const attempts = 3;

export function runningProcess(folder: StateFolder, name: ProcessName): ProcessIdentity | undefined {
  const known: Running | undefined = folder.state.processes[name];
  return known && 'started' in known && isRunning(known) ? known : undefined;
}

export async function settlePorts(run: Run, names: readonly PortName[], remembered = true): Promise<void> {
  const { ports } = run.folder.state;
  for (const name of names) {
    const wanted = (remembered ? ports[name] : 0) ?? run.wantedPorts[name] ?? defaultPorts[name];
    const others = Object.entries(ports).filter(([other]) => other !== name);
    ports[name] = await choosePort(wanted, new Set(others.map(([, port]) => port)));
  }
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
    outcome === 'died'
      ? 'ended while it was starting'
      : `did not answer within ${startable.deadlineMs / 1000} s`;
  throw new StartError('did_not_start', `${name} ${what}. The end of ${log}:\n${lastLines(log)}`);
}

/** Leaves alone what runs and answers. */
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
    if (answered) return report(`${name} is running (pid ${running.pid})`);
    report(`${name} (pid ${running.pid}) does not answer: starting it again`);
    await stopProcess(running, 10_000);
  }
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if ((await startOnce(run, startable)) === 'answers') {
      const ports = startable.ports.map((port) => folder.state.ports[port]).join(', ');
      return report(`${name} answers on port ${ports} after ${((Date.now() - since) / 1000).toFixed(1)} s`);
    }
    if (startable.portsAreFixed)
      throw new StartError('port_taken', `${name} found its port taken by somebody else: start again`);
    // Free when we looked, taken when the server asked: somebody was faster.
    await settlePorts(run, startable.ports, false);
  }
  throw new StartError(
    'port_taken',
    `${name} found its port taken ${attempts} times: stop what takes them, then start again`,
  );
}
