/** Processes of the service under test: started, frozen, killed and stopped individually, each with its own log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lastLines } from '../../deploy/local/child.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { cleanEnvironment } from './run-headrace.ts';
import type { Settings } from './settings.ts';
import { waitFor } from './wait-for.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));

export type Part = 'api' | 'pipeline';

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});
// vitest ends a worker with SIGTERM; its child processes must end with it.
process.once('SIGTERM', () => process.exit());

export interface Managed {
  readonly part: Part;
  readonly url: string;
  /** Of an API only: it serves metrics on a separate port. */
  readonly metricsUrl: string;
  readonly log: string;
  readonly running: boolean;
  readonly pid: number;
  /** The ports it listens on, as settings. */
  readonly ports: Settings;
  /** `program`: what node runs instead of this checkout's sources. */
  start(more?: Settings, program?: readonly string[]): void;
  /** Resolves when the process reports ready; rejects if it exits instead. */
  ready(): Promise<void>;
  /** Resolves when the process has exited. */
  gone(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
}

interface ManageOptions {
  readonly logs: string;
  readonly args?: readonly string[];
}

export async function manage(
  part: Part,
  settings: Settings,
  { logs, args = [] }: ManageOptions,
): Promise<Managed> {
  const chosen = new Set<number>();
  const portOf = async (name: string) => {
    const port = Number(settings[name] ?? (await anyFreePort(chosen)));
    chosen.add(port);
    return String(port);
  };
  const names =
    part === 'api' ? ['HEADRACE_API_PORT', 'HEADRACE_API_METRICS_PORT'] : ['HEADRACE_PIPELINE_PORT'];
  const ports: Settings = {};
  for (const name of names) ports[name] = await portOf(name);
  const [port, metricsPort = port] = Object.values(ports);
  const url = `http://127.0.0.1:${port}`;
  const log = join(logs, `${part}-${port}.log`);
  let child: ChildProcess | undefined;
  const running = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  const gone = async () => {
    await waitFor(() => !running(), { what: `the end of the ${part}`, everyMs: 20 });
  };
  return {
    part,
    url,
    metricsUrl: `http://127.0.0.1:${metricsPort}`,
    log,
    get running() {
      return running();
    },
    get pid() {
      return child?.pid ?? 0;
    },
    ports,
    start(more = {}, program = [headrace]) {
      if (running()) throw new Error(`the ${part} is already running`);
      const output = openSync(log, 'a');
      const started = spawn(process.execPath, [...program, part, ...args], {
        env: { ...cleanEnvironment(), ...settings, ...ports, ...more },
        stdio: ['ignore', output, output],
      });
      closeSync(output);
      alive.add(started);
      started.once('exit', () => alive.delete(started));
      child = started;
    },
    async ready() {
      const answers = async () =>
        !running() || (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(10_000) })).ok;
      await waitFor(answers, { what: `the ${part} to be ready` }).catch((error: Error) => {
        throw new Error(`${error.message}\n${lastLines(log, 30)}`);
      });
      if (!running()) throw new Error(`the ${part} exited while starting:\n${lastLines(log, 30)}`);
    },
    gone,
    signal: (name) => void child?.kill(name),
    async kill() {
      child?.kill('SIGKILL');
      await gone();
    },
    async stop() {
      child?.kill('SIGTERM');
      await gone();
      return child?.exitCode ?? null;
    },
  };
}

/** Whether a signal (SIGSTOP) has stopped the process, whoever sent it. */
export function isFrozen({ pid }: Pick<Managed, 'pid'>): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
