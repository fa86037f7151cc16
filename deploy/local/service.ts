/** The API and the pipeline, started with the same commands as in a deployment and configured by the environment. */
import { addressesAsEnvironment, type Environment } from './addresses.ts';
import { StartError } from './start-error.ts';
import type { StateFolder } from './state.ts';
import {
  ensureRunning,
  type Run,
  runningProcess,
  START_MS,
  type Startable,
  settlePorts,
} from './supervise.ts';

export const apiUrl = (folder: StateFolder): string => `http://127.0.0.1:${folder.state.ports.api}`;
/** The API is also the schema registry: clients append `/subjects` and the rest. */
export const registryUrl = apiUrl;
export const docsUrl = (folder: StateFolder): string => `${apiUrl(folder)}/docs`;
export const consoleUrl = (folder: StateFolder): string => `${apiUrl(folder)}/console/`;
export const pipelineUrl = (folder: StateFolder): string => `http://127.0.0.1:${folder.state.ports.pipeline}`;

/** The addresses, secrets and ports in the state folder override the caller's environment: the data was written with them. */
export function serviceEnvironment(
  folder: StateFolder,
  base: Environment,
  settings: Environment = folder.state.settings ?? {},
): Environment {
  const { ports, secrets, addresses } = folder.state;
  const partnerEndpoint = base.HEADRACE_PARTNER_S3_ENDPOINT ?? settings.HEADRACE_PARTNER_S3_ENDPOINT;
  const port = (value: number | undefined) => (value === undefined ? undefined : String(value));
  const env: Environment = {
    // A local stack is for tests.
    HEADRACE_ALLOW_LOAD: '1',
    HEADRACE_WEBHOOK_ALLOW_PRIVATE: '1',
    ...settings,
    ...base,
    ...(addresses ? addressesAsEnvironment(addresses) : {}),
    ...(partnerEndpoint === undefined ? {} : { HEADRACE_PARTNER_S3_ENDPOINT: partnerEndpoint }),
    HEADRACE_SECRET: secrets.headrace,
    HEADRACE_API_PORT: port(ports.api),
    HEADRACE_API_METRICS_PORT: port(ports.apiMetrics),
    HEADRACE_PIPELINE_PORT: port(ports.pipeline),
    HEADRACE_PUBLIC_URL: ports.api === undefined ? undefined : apiUrl(folder),
  };
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

/**
 * glibc keeps freed memory in per-thread arenas, and raises its mmap threshold with every large buffer: these settings save 100 MB per
 * pipeline, at no measurable cost. The image has them, too.
 */
const MEMORY = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' };

/** `command`: the path of headrace.mjs; default: the one that runs this process. */
export function serviceProcess(
  name: 'api' | 'pipeline',
  env: Environment,
  command = process.argv[1]!,
): Startable {
  return {
    name,
    ports: name === 'api' ? ['api', 'apiMetrics'] : ['pipeline'],
    deadlineMs: START_MS,
    prepare: async (folder) => ({
      command: process.execPath,
      args: [command, name],
      env: { ...MEMORY, ...serviceEnvironment(folder, env, {}) },
    }),
    answers: (folder) => isReady(name === 'api' ? apiUrl(folder) : pipelineUrl(folder)),
  };
}

function ownSettings(env: Environment): Record<string, string> {
  const given = Object.entries(env).filter(
    ([name, value]) => name.startsWith('HEADRACE_') && value !== undefined,
  );
  return Object.fromEntries(given) as Record<string, string>;
}

function refuseOtherPorts({ folder, exactPorts }: Run, { name, ports }: Startable): void {
  for (const port of ports) {
    const [wanted, used] = [exactPorts[port], folder.state.ports[port]];
    if (wanted === undefined || wanted.port === 0 || wanted.port === used) continue;
    throw new StartError(
      'already_running',
      `${name} is already running on port ${used}, and ${wanted.from} asks for ${wanted.port}: stop it first with headrace down --state ${folder.directory}`,
    );
  }
}

export async function startService(run: Run, env: Environment): Promise<void> {
  const both = [serviceProcess('api', env), serviceProcess('pipeline', env)];
  for (const one of both) {
    if (runningProcess(run.folder, one.name)) refuseOtherPorts(run, one);
    else await settlePorts(run, one.ports);
  }
  const outcomes = await Promise.allSettled(both.map((one) => ensureRunning(run, one)));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
  // Saved only after the start: settings that prevent a start must not be remembered.
  run.folder.state.settings = ownSettings(env);
  run.folder.save();
}
