/** The real service for tests: shared between tests that leave it alone, or in a test's own processes. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import {
  addressesAsEnvironment,
  type Environment,
  type ServerAddresses,
} from '../../deploy/local/addresses.ts';
import { anyPorts } from '../../deploy/local/ports.ts';
import { makeSharedBucket } from '../../deploy/local/s3.ts';
import { apiUrl, pipelineUrl, serviceEnvironment, serviceProcess } from '../../deploy/local/service.ts';
import { bringUp } from '../../deploy/local/stack.ts';
import { ensureRunning, type Startable, settlePorts } from '../../deploy/local/supervise.ts';
import { type Config, parseConfig } from '../../schemas/config.ts';
import { type Managed, manage, type Part } from './processes.ts';
import { cleanEnvironment } from './run-headrace.ts';
import { dropData, patient, type Settings, uniqueSettings } from './settings.ts';
import { timed } from './timed.ts';
import { QUIET_MS } from './wait-for.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));

export const servers = (): ServerAddresses => inject('servers');
export const uniqueEnvironment = (): Settings => uniqueSettings(servers());

/** A bucket's policy is one document, locked within one database: a service that creates partners with storage needs its own bucket. */
export async function ownBucket(): Promise<Settings> {
  const bucket = `b${randomBytes(6).toString('hex')}`;
  await makeSharedBucket({ ...servers().s3, bucket });
  return { HEADRACE_S3_BUCKET: bucket };
}

export const withOwnBucket = async (): Promise<Settings> => ({
  ...uniqueEnvironment(),
  ...(await ownBucket()),
});

export interface Service {
  readonly apiUrl: string;
  readonly metricsUrl: string;
  readonly pipelineUrl: string;
  readonly env: Settings;
  readonly config: Config;
  /** The path of a process's log. */
  log(part: Part): string;
}

/** The services that tests share: one with a pipeline, and one API without a pipeline, whose jobs stay unprocessed. */
const sharedParts = { live: ['api', 'pipeline'], idle: ['api'] } as const;
export type SharedName = keyof typeof sharedParts;

/** A local stack sets its public URL, which makes every link absolute; by default links are relative. */
function withoutPublicUrl({ HEADRACE_PUBLIC_URL: _, ...env }: Environment): Environment {
  return env;
}
const withDefaults = (startable: Startable): Startable => ({
  ...startable,
  // A slow host is no reason to restart a service that other tests use.
  deadlineMs: QUIET_MS,
  async prepare(folder) {
    const command = await startable.prepare(folder);
    return { ...command, env: withoutPublicUrl(command.env!) };
  },
});

/** Started by the first test that asks for it, stopped after the run. Tests are isolated by their own partners. */
export const sharedService = (name: SharedName = 'live'): Promise<Service> =>
  timed('start', () => startShared(name));

async function startShared(name: SharedName): Promise<Service> {
  const s3 = { ...servers().s3, bucket: `shared-${name}` };
  const env = {
    ...cleanEnvironment(),
    ...addressesAsEnvironment({ ...servers(), s3 }),
    ...patient,
    // All tests share one client address.
    HEADRACE_TEST_WRONG_KEYS_PER_MINUTE: '100000',
    // The receivers live in the test processes.
    HEADRACE_TEST_WEBHOOK_TIMEOUT_MS: '60000',
    HEADRACE_MONGO_DATABASE: `shared-${name}`,
    HEADRACE_TOPIC_PREFIX: `shared-${name}`,
    HEADRACE_GROUP_PREFIX: `shared-${name}`,
  };
  const directory = join(inject('scratch'), name);
  const parts = sharedParts[name].map((part) => withDefaults(serviceProcess(part, env, headrace)));
  const { folder } = await bringUp(
    { directory, report: () => {}, env, wantedPorts: anyPorts },
    async (run) => {
      if (Object.keys(run.folder.state.processes).length === 0) {
        await makeSharedBucket(s3);
        for (const { ports } of parts) await settlePorts(run, ports);
      }
      await Promise.all(parts.map((part) => ensureRunning(run, part)));
    },
  );
  const settings = withoutPublicUrl(serviceEnvironment(folder, env)) as Settings;
  return {
    apiUrl: apiUrl(folder),
    metricsUrl: `http://127.0.0.1:${folder.state.ports.apiMetrics}`,
    pipelineUrl: pipelineUrl(folder),
    env: settings,
    config: parseConfig(settings),
    log: (part) => folder.log(part),
  };
}

/** For another process of the same service. */
export function withoutPorts(env: Settings): Settings {
  const { HEADRACE_API_PORT, HEADRACE_API_METRICS_PORT, HEADRACE_PIPELINE_PORT, ...others } = env;
  return others;
}

export interface ServiceOptions {
  readonly env?: Record<string, string | undefined>;
  /** The stages of the pipeline process. Default: all. */
  readonly stages?: readonly string[];
  /** The processes to start. Default: both. */
  readonly parts?: readonly Part[];
  /** What node runs instead of this checkout's command. */
  readonly program?: readonly string[];
}

export interface OwnService extends Service {
  readonly api: Managed;
  readonly pipeline: Managed;
  /** Sends SIGTERM to both, waits until they have exited, and drops their data. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(part: Part): Promise<void>;
  /** Restarts the process with changed settings, after SIGTERM if it still runs, and waits until it is ready. */
  restart(part: Part, changed?: Settings): Promise<void>;
}

/** Another process on existing data: this service must not drop it. */
const sharesData = ({ env = {} }: ServiceOptions) => env.HEADRACE_MONGO_DATABASE !== undefined;

/** A service that a test may kill, or that needs its own settings. */
export const startService = (options: ServiceOptions = {}): Promise<OwnService> =>
  timed('start', () => startOwn(options));

async function startOwn(options: ServiceOptions): Promise<OwnService> {
  const bucket = options.env?.HEADRACE_S3_BUCKET ? {} : await ownBucket();
  // One thread: a short-lived process starts twice as fast.
  const env = { ...uniqueEnvironment(), ...bucket, HEADRACE_THREADS: '1', ...options.env } as Settings;
  const parts = options.parts ?? ['api', 'pipeline'];
  const logs = mkdtempSync(join(inject('scratch'), 'logs-'));
  const stages = options.stages ? ['--stages', options.stages.join(',')] : [];
  const managed = {
    api: await manage('api', env, { logs }),
    pipeline: await manage('pipeline', env, { logs, args: stages }),
  };
  const start = async (part: Part, changed?: Settings) => {
    managed[part].start(changed, options.program);
    await managed[part].ready();
  };
  const all = parts.map((part) => managed[part]);
  try {
    await Promise.all(parts.map((part) => start(part)));
  } catch (error) {
    await Promise.all(all.map((one) => one.kill()));
    throw error;
  }
  const settings = { ...env, ...managed.api.ports, ...managed.pipeline.ports };
  return {
    ...managed,
    apiUrl: managed.api.url,
    metricsUrl: managed.api.metricsUrl,
    pipelineUrl: managed.pipeline.url,
    env: settings,
    config: parseConfig(settings),
    log: (part) => managed[part].log,
    stop: () =>
      timed('stop', async () => {
        await Promise.all(all.map((one) => one.stop()));
        if (!sharesData(options)) await dropData(env);
      }),
    kill: (part) => managed[part].kill(),
    async restart(part, changed) {
      await managed[part].stop();
      await start(part, changed);
    },
  };
}
