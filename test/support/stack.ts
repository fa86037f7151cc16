/** The real service for tests: the shared servers, and processes of our own with names nobody else has. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import {
  addressesAsEnvironment,
  type Environment,
  type ServerAddresses,
} from '../../deploy/local/addresses.ts';
import { lastLines } from '../../deploy/local/child.ts';
import { anyFreePort } from '../../deploy/local/ports.ts';
import { makeSharedBucket } from '../../deploy/local/s3.ts';
import { type Config, parseConfig } from '../../schemas/config.ts';
import { waitFor } from './wait-for.ts';

export { waitFor } from './wait-for.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));
const readyMs = 300_000;

export function servers(): ServerAddresses {
  return inject('servers');
}

/** Limits that a slow machine does not reach; a test of one of them sets its own. */
const patient = { HEADRACE_LIMIT_BACKEND_MS: '60000', HEADRACE_SHUTDOWN_MS: '60000' };
/** For servers that are not there. */
export const impatient = { HEADRACE_LIMIT_BACKEND_MS: '2500' };

/** Everything parseConfig needs, with topics, groups and a database of its own; the bucket is shared, so no partner gets storage in it. */
export function uniqueEnvironment(): Record<string, string> {
  const unique = `t${randomBytes(6).toString('hex')}`;
  return {
    ...addressesAsEnvironment(servers()),
    ...patient,
    HEADRACE_MONGO_DATABASE: unique,
    HEADRACE_TOPIC_PREFIX: unique,
    HEADRACE_GROUP_PREFIX: unique,
    HEADRACE_SECRET: randomBytes(32).toString('base64'),
    HEADRACE_USER_TOKEN_SECRET: randomBytes(32).toString('base64'),
  };
}

/** The policy of a bucket is one document, locked within one database: who makes partners with storage has a bucket of its own. */
export async function withOwnBucket(): Promise<Record<string, string>> {
  const bucket = `b${randomBytes(6).toString('hex')}`;
  await makeSharedBucket({ ...servers().s3, bucket });
  return { ...uniqueEnvironment(), HEADRACE_S3_BUCKET: bucket };
}

const alive = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});
// vitest ends a worker with SIGTERM, which alone would not let it end its children.
process.once('SIGTERM', () => process.exit());

/** The environment of the test run is for the servers, not for a service under test. */
function withoutOurs(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HEADRACE_')));
}

/** `headrace …` as a child process, its output in a file. `program`: what node runs instead of the sources. */
export function spawnHeadrace(
  args: readonly string[],
  env: Environment,
  log: string,
  program: readonly string[] = [headrace],
): ChildProcess {
  const output = openSync(log, 'a');
  const child = spawn(process.execPath, [...program, ...args], {
    env: { ...withoutOurs(process.env), ...env },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  return child;
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  child.kill(signal);
  await waitFor(() => hasEnded(child), { what: `the end of process ${child.pid}` }).catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
}

export type Part = 'api' | 'pipeline';

export interface ServiceOptions {
  readonly env?: Environment;
  /** Only these stages in the pipeline's process. */
  readonly stages?: readonly string[];
  /** Which processes to start; both unless told. */
  readonly parts?: readonly Part[];
  /** What node runs, with its options; the command of this checkout unless told. */
  readonly program?: readonly string[];
}

export interface Service {
  readonly apiUrl: string;
  readonly metricsUrl: string;
  readonly pipelineUrl: string;
  readonly env: Record<string, string>;
  readonly config: Config;
  readonly apiProcess: ChildProcess;
  readonly pipelineProcess: ChildProcess;
  /** Where a process writes its log. */
  log(part: Part): string;
  /** SIGTERM to both, and waits for their end. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(part: Part): Promise<void>;
  /** Starts it again, after ending it with SIGTERM if it still runs, and waits until it is ready. */
  restart(part: Part): Promise<void>;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const free = async (name: string) => Number(options.env?.[name] ?? (await anyFreePort()));
  const ports = {
    api: await free('HEADRACE_API_PORT'),
    metrics: await free('HEADRACE_API_METRICS_PORT'),
    pipeline: await free('HEADRACE_PIPELINE_PORT'),
  };
  const env = {
    ...(await withOwnBucket()),
    HEADRACE_API_PORT: String(ports.api),
    HEADRACE_API_METRICS_PORT: String(ports.metrics),
    HEADRACE_PIPELINE_PORT: String(ports.pipeline),
    ...options.env,
  } as Record<string, string>;
  const logs = mkdtempSync(join(inject('scratch'), 'logs-'));
  const parts = options.parts ?? ['api', 'pipeline'];
  const urls = { api: `http://127.0.0.1:${ports.api}`, pipeline: `http://127.0.0.1:${ports.pipeline}` };
  const log = (part: Part) => join(logs, `${part}.log`);
  const processes = new Map<Part, ChildProcess>();

  const start = async (part: Part) => {
    const stages = part === 'pipeline' && options.stages ? ['--stages', options.stages.join(',')] : [];
    const child = spawnHeadrace([part, ...stages], env, log(part), options.program);
    processes.set(part, child);
    const ready = async () => hasEnded(child) || (await fetch(`${urls[part]}/health/ready`)).ok;
    await waitFor(ready, { what: `the ${part} to be ready`, deadlineMs: readyMs }).catch((error: Error) => {
      throw new Error(`${error.message}\n${lastLines(log(part), 30)}`);
    });
    if (hasEnded(child))
      throw new Error(`the ${part} ended while it was starting:\n${lastLines(log(part), 30)}`);
  };
  const stop = async () => {
    await Promise.all([...processes.values()].map((child) => end(child, 'SIGTERM')));
  };
  const process = (part: Part) => {
    const child = processes.get(part);
    if (!child) throw new Error(`this service was started without its ${part}`);
    return child;
  };
  try {
    await Promise.all(parts.map(start));
  } catch (error) {
    await Promise.all([...processes.values()].map((child) => end(child, 'SIGKILL')));
    throw error;
  }
  return {
    apiUrl: urls.api,
    metricsUrl: `http://127.0.0.1:${ports.metrics}`,
    pipelineUrl: urls.pipeline,
    env,
    config: parseConfig(env),
    get apiProcess() {
      return process('api');
    },
    get pipelineProcess() {
      return process('pipeline');
    },
    log,
    stop,
    kill: (part) => end(process(part), 'SIGKILL'),
    async restart(part) {
      await end(process(part), 'SIGTERM');
      await start(part);
    },
  };
}
