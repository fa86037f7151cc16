import { lastLines } from '../local/child.ts';
import { type ClusterSize, type ProcessName, processesOf } from '../local/names.ts';
import type { PortName, Ports } from '../local/ports.ts';
import { apiUrl, consoleUrl, registryUrl, startService } from '../local/service.ts';
import { bringUp, type Stack, takeDown } from '../local/stack.ts';
import type { Report } from '../local/start-error.ts';
import { clusterOf, readState } from '../local/state.ts';
import { runningProcess } from '../local/supervise.ts';
import { poll } from '../local/wait.ts';

export interface UpOptions {
  readonly state: string;
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly serversOnly?: boolean;
  readonly mongodCacheGb?: number;
  readonly brokers?: ClusterSize;
  readonly members?: ClusterSize;
}

export const sayOnStderr: Report = (line) => process.stderr.write(`${line}\n`);

/** Aborts at the first Ctrl-C or SIGTERM. Further ones are ignored: npm forwards a Ctrl-C that the terminal has already sent us. */
export function abortOnSignal(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  return controller;
}

/** The variables that fix the ports of a deployment are only preferences for the local stack. */
function portsFromEnvironment(env: NodeJS.ProcessEnv): Partial<Ports> {
  const variables: Partial<Record<PortName, string>> = {
    api: 'HEADRACE_API_PORT',
    apiMetrics: 'HEADRACE_API_METRICS_PORT',
    pipeline: 'HEADRACE_PIPELINE_PORT',
  };
  const given = Object.entries(variables).filter(([, variable]) => /^\d+$/.test(env[variable] ?? ''));
  return Object.fromEntries(given.map(([name, variable]) => [name, Number(env[variable])]));
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
      wantedPorts: portsFromEnvironment(process.env),
    },
    options.serversOnly ? undefined : (run) => startService(run, process.env),
  );
}

export function describe({ folder, addresses }: Stack): object {
  const { accessKeyId, secretAccessKey, endpoint, region, bucket } = addresses.s3;
  const pid = (name: ProcessName) => folder.state.processes[name]?.pid ?? null;
  return {
    api_url: folder.state.processes.api ? apiUrl(folder) : null,
    console_url: folder.state.processes.api ? consoleUrl(folder) : null,
    registry_url: folder.state.processes.api ? registryUrl(folder) : null,
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

/** Reports processes that die; returns when it is told to stop, or when another command has stopped all of them. */
export async function stayUntilStopped(
  directory: string,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const missed = new Set<ProcessName>();
  const allGone = () => {
    const folder = readState(directory);
    if (folder === undefined) return true;
    const known = Object.keys(folder.state.processes) as ProcessName[];
    for (const name of known) {
      const entry = folder.state.processes[name]!;
      const running = 'container' in entry || runningProcess(folder, name) !== undefined;
      if (running) missed.delete(name);
      else if (!missed.has(name)) {
        missed.add(name);
        report(
          `${name} has died; headrace up restarts it. The end of its log:\n${lastLines(folder.log(name), 5)}`,
        );
      }
    }
    return known.length === 0;
  };
  await poll(allGone, { deadlineMs: Number.POSITIVE_INFINITY, everyMs: 500, signal }).catch(
    (error: Error) => {
      if (error.name !== 'AbortError') throw error;
    },
  );
}

export async function up(options: UpOptions): Promise<void> {
  const { signal } = abortOnSignal();
  const since = Date.now();
  const stack = await startStack(options, sayOnStderr, signal);
  sayOnStderr(
    `up after ${((Date.now() - since) / 1000).toFixed(1)} s; state folder: ${stack.folder.directory}`,
  );
  if (!options.serversOnly)
    sayOnStderr(`API: ${apiUrl(stack.folder)}   console: ${consoleUrl(stack.folder)}`);
  if (options.json) process.stdout.write(`${JSON.stringify(describe(stack))}\n`);
  if (options.detach) process.exit(0);
  sayOnStderr('Ctrl-C stops everything');
  await stayUntilStopped(options.state, sayOnStderr, signal);
  await takeDown(options.state, sayOnStderr);
  process.exit(0);
}
