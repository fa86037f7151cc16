/** Our own processes for fault tests: as many of each as wanted, started, killed, frozen and thawed one by one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addressesAsEnvironment, type ServerAddresses } from '../../../deploy/local/addresses.ts';
import { lastLines } from '../../../deploy/local/child.ts';
import { anyFreePort } from '../../../deploy/local/ports.ts';
import { WAIT_MS, waitFor } from '../../support/wait-for.ts';

const headrace = fileURLToPath(new URL('../../../deploy/headrace.mjs', import.meta.url));

/** Several runs side by side on a small machine take their time. */
const READY_MS = 300_000;

export type Settings = Record<string, string>;
export type Part = 'api' | 'pipeline';

/**
 * Topics, groups and a database of their own on the given servers. Small batches: a small file has many of them. One thread: a
 * pipeline that is started again and again takes half as long.
 */
export function settingsFor(addresses: ServerAddresses, more: Settings = {}): Settings {
  const unique = `f${randomBytes(6).toString('hex')}`;
  return {
    ...addressesAsEnvironment(addresses),
    HEADRACE_MONGO_DATABASE: unique,
    HEADRACE_TOPIC_PREFIX: unique,
    HEADRACE_GROUP_PREFIX: unique,
    HEADRACE_SECRET: randomBytes(32).toString('base64'),
    HEADRACE_USER_TOKEN_SECRET: randomBytes(32).toString('base64'),
    HEADRACE_BATCH_BYTES: '20000',
    HEADRACE_THREADS: '1',
    HEADRACE_RATE_PER_SECOND: '100000',
    HEADRACE_RATE_BURST: '100000',
    // A clean stop of a process that shares its core with many others.
    HEADRACE_SHUTDOWN_MS: '60000',
    ...more,
  };
}

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});
process.once('SIGTERM', () => process.exit());

export interface Managed {
  readonly part: Part;
  readonly url: string;
  readonly log: string;
  readonly running: boolean;
  readonly pid: number;
  /** `program`: the command of another checkout. */
  start(more?: Settings, program?: string): void;
  /** Resolves when it answers that it is ready; rejects when it ends instead. */
  ready(): Promise<void>;
  /** Resolves when it is gone. */
  gone(deadlineMs?: number): Promise<void>;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
}

export async function manage(
  part: Part,
  settings: Settings,
  logs: string,
  ...args: string[]
): Promise<Managed> {
  const port = await anyFreePort();
  const metrics = await anyFreePort(new Set([port]));
  const url = `http://127.0.0.1:${port}`;
  const log = join(logs, `${part}-${port}.log`);
  const ports: Settings =
    part === 'api'
      ? { HEADRACE_API_PORT: String(port), HEADRACE_API_METRICS_PORT: String(metrics) }
      : { HEADRACE_PIPELINE_PORT: String(port) };
  let child: ChildProcess | undefined;
  const running = () => child !== undefined && child.exitCode === null && child.signalCode === null;

  const gone = async (deadlineMs = WAIT_MS) => {
    await waitFor(() => !running(), { what: `the end of the ${part}`, deadlineMs, everyMs: 20 });
  };
  return {
    part,
    url,
    log,
    get running() {
      return running();
    },
    get pid() {
      return child?.pid ?? 0;
    },
    start(more = {}, program = headrace) {
      if (running()) throw new Error(`the ${part} runs already`);
      const output = openSync(log, 'a');
      const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HEADRACE_'));
      child = spawn(process.execPath, [program, part, ...args], {
        env: { ...Object.fromEntries(inherited), ...settings, ...ports, ...more },
        stdio: ['ignore', output, output],
      });
      closeSync(output);
      const started = child;
      alive.add(started);
      started.once('exit', () => alive.delete(started));
    },
    async ready() {
      const answers = async () =>
        !running() || (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(10_000) })).ok;
      await waitFor(answers, { what: `the ${part} to be ready`, deadlineMs: READY_MS });
      if (!running()) throw new Error(`the ${part} has ended:\n${lastLines(log, 20)}`);
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

/** Whether it is stopped by a signal, its own or another's. */
export function isFrozen({ pid }: Pick<Managed, 'pid'>): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
