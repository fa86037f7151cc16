import { endSilentlyOnClosedPipe, printJson, printLines } from '../../../pipeline/runtime/terminal.ts';
import { parseConfig } from '../../../schemas/config.ts';
import { isUp, lastLogLines } from '../../local/docker.ts';
import { type ClusterSize, type ProcessName, processesOf } from '../../local/names.ts';
import { type OthersStack, ownStack } from '../../local/owner.ts';
import type { ExactPorts, PortName } from '../../local/ports.ts';
import {
  apiUrl,
  consoleUrl,
  docsUrl,
  registryUrl,
  serviceEnvironment,
  startService,
} from '../../local/service.ts';
import { bringUp, type Stack, takeDown } from '../../local/stack.ts';
import { type Report, StartError } from '../../local/start-error.ts';
import { clusterOf, readState, type StateFolder } from '../../local/state.ts';
import { START_MS } from '../../local/supervise.ts';
import { poll } from '../../local/wait.ts';
import { defaultState } from '../environment.ts';

export interface UpOptions {
  readonly state: string;
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly serversOnly?: boolean;
  readonly mongodCacheGb?: number;
  readonly brokers?: ClusterSize;
  readonly members?: ClusterSize;
  readonly secure?: boolean;
  /** The API's port. */
  readonly port?: number;
}

export const sayOnStderr: Report = (text) => void printLines(process.stderr, text.split('\n'));

/** Aborts at the first Ctrl-C or SIGTERM. Ignores further ones, because npm forwards a Ctrl-C that the terminal has already sent. */
export function abortOnSignal(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  return controller;
}

const portVariables: Partial<Record<PortName, string>> = {
  api: 'HEADRACE_API_PORT',
  apiMetrics: 'HEADRACE_API_METRICS_PORT',
  pipeline: 'HEADRACE_PIPELINE_PORT',
};

/** Requested ports are used, or the start fails. */
function exactPorts(env: NodeJS.ProcessEnv, apiPort: number | undefined): ExactPorts {
  const ports: ExactPorts = {};
  for (const [name, variable] of Object.entries(portVariables) as [PortName, string][]) {
    const text = env[variable];
    if (text === undefined || text === '') continue;
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
      throw new StartError('bad_port', `${variable}: expected a port from 0 (any) to 65535, not ${text}`);
    ports[name] = { port: Number(text), from: variable };
  }
  return apiPort === undefined ? ports : { ...ports, api: { port: apiPort, from: '--port' } };
}

/** Lets a command detect that another stack has taken the port. */
async function rememberInstallation(folder: StateFolder): Promise<void> {
  const { connectMongo } = await import('../../../pipeline/stores/mongo.ts');
  const { createInstallationStore } = await import('../../../api/stores/installation.ts');
  const config = parseConfig(serviceEnvironment(folder, process.env), 'operator');
  const mongo = await connectMongo({ ...config, limitBackendMs: START_MS });
  try {
    folder.state.installation = await createInstallationStore(mongo.db).id().catch(mongo.fail);
    folder.save();
  } finally {
    await mongo.close();
  }
}

export function startStack(options: UpOptions, report: Report, signal: AbortSignal): Promise<Stack> {
  return bringUp(
    {
      directory: options.state,
      report,
      signal,
      mongodCacheGb: options.mongodCacheGb,
      brokers: options.brokers,
      members: options.members,
      secure: options.secure,
      exactPorts: exactPorts(process.env, options.port),
      detached: options.detach,
    },
    async (run, { folder }) => {
      if (!options.serversOnly) await startService(run, process.env);
      await rememberInstallation(folder);
    },
  );
}

export function describe({ folder, addresses }: Stack): object {
  const { accessKeyId, secretAccessKey, endpoint, region, bucket } = addresses.s3;
  const pid = (name: ProcessName) => folder.state.processes[name]?.pid ?? null;
  return {
    api_url: folder.state.processes.api ? apiUrl(folder) : null,
    console_url: folder.state.processes.api ? consoleUrl(folder) : null,
    registry_url: folder.state.processes.api ? registryUrl(folder) : null,
    docs_url: folder.state.processes.api ? docsUrl(folder) : null,
    kafka_brokers: addresses.kafkaBrokers,
    mongo_url: addresses.mongoUrl,
    s3: {
      endpoint,
      region,
      bucket,
      admin: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
    },
    processes: Object.fromEntries(processesOf(clusterOf(folder.state)).map((name) => [name, pid(name)])),
  };
}

/** Reports processes that die. Returns false if another command has stopped all of them. */
async function stayUntilStopped(directory: string, report: Report, signal: AbortSignal): Promise<boolean> {
  const missed = new Set<ProcessName>();
  const allGone = async () => {
    const folder = readState(directory);
    if (folder === undefined) return true;
    const known = Object.keys(folder.state.processes) as ProcessName[];
    for (const name of known) {
      if (await isUp(folder, name).catch(() => false)) missed.delete(name);
      else if (!missed.has(name)) {
        missed.add(name);
        report(
          `${name} has died; headrace up restarts it. The end of its log:\n${await lastLogLines(folder, name, 5)}`,
        );
      }
    }
    return known.length === 0;
  };
  try {
    await poll(allGone, { deadlineMs: Number.POSITIVE_INFINITY, everyMs: 500, signal });
    return false;
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    return true;
  }
}

/** Waits until the stack is stopped, then takes it down. */
export async function keepUntilStopped(
  directory: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  if (await stayUntilStopped(directory, report, signal)) await takeDown(directory, report);
}

export function howToStop({ pid }: OthersStack, directory: string): string {
  const where = pid === undefined ? 'in the background' : `in another terminal (pid ${pid})`;
  const other = pid === undefined ? '' : 'Ctrl-C there, or ';
  const state = directory === defaultState ? '' : ` --state ${directory}`;
  return `headrace is already running ${where}. To stop it: ${other}headrace down${state}`;
}

export async function up(options: UpOptions): Promise<void> {
  const { signal } = abortOnSignal();
  endSilentlyOnClosedPipe(() => {});
  const since = Date.now();
  const others = options.detach ? undefined : ownStack(options.state);
  const stack = await startStack(options, sayOnStderr, signal);
  sayOnStderr(
    `up after ${((Date.now() - since) / 1000).toFixed(1)} s; state folder: ${stack.folder.directory}`,
  );
  if (!options.serversOnly)
    sayOnStderr(`API: ${apiUrl(stack.folder)}   console: ${consoleUrl(stack.folder)}`);
  if (options.json) await printJson(process.stdout, describe(stack));
  if (options.detach) process.exit(0);
  if (others) sayOnStderr(howToStop(others, options.state));
  else {
    sayOnStderr('Ctrl-C stops everything');
    await keepUntilStopped(options.state, sayOnStderr, signal);
  }
  process.exit(0);
}
