/**
 * Kafka, MongoDB and S3, each from where it is at hand: an address in the environment, else a Docker engine, else a
 * process of its own on this machine.
 */
import type { Environment, ServerAddresses } from './addresses.ts';
import { cached, checkTools, type Download } from './cache.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import { kafkaAlternative, kafkaDownload, kafkaServer } from './kafka.ts';
import { mongodDownload, mongodServer, mongoUrl } from './mongod.ts';
import { makeSharedBucket, s3Download, s3Endpoint, s3Region, s3Server, sharedBucket } from './s3.ts';
import { StartError } from './start-error.ts';
import type { StateFolder } from './state.ts';
import { ensureRunning, type Run, runningProcess, type Startable, settlePorts } from './supervise.ts';
import { needJava } from './tools.ts';

type ServerName = 'kafka' | 'mongod' | 's3';

export interface ServerOptions {
  readonly env: Environment;
  readonly mongodCacheGb?: number;
}

function givenInEnvironment(env: Environment): Record<ServerName, boolean> {
  return {
    kafka: Boolean(env.HEADRACE_KAFKA_BROKERS),
    mongod: Boolean(env.HEADRACE_MONGO_URL),
    s3: Boolean(env.HEADRACE_S3_ENDPOINT || env.HEADRACE_S3_BUCKET),
  };
}

function needVariable(env: Environment, name: string): string {
  const value = env[name];
  if (value) return value;
  throw new StartError(
    'missing_variable',
    `${name}: expected, since the environment names an S3 server of its own`,
  );
}

function s3Address(env: Environment, given: boolean, folder: StateFolder): ServerAddresses['s3'] {
  if (given) {
    return {
      endpoint: env.HEADRACE_S3_ENDPOINT ?? '',
      region: env.HEADRACE_S3_REGION ?? s3Region,
      bucket: needVariable(env, 'HEADRACE_S3_BUCKET'),
      accessKeyId: needVariable(env, 'HEADRACE_S3_ACCESS_KEY_ID'),
      secretAccessKey: needVariable(env, 'HEADRACE_S3_SECRET_ACCESS_KEY'),
      issuer: env.HEADRACE_S3_ISSUER ?? 'aws',
    };
  }
  const { s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = folder.state.secrets;
  return {
    endpoint: s3Endpoint(folder),
    region: s3Region,
    bucket: sharedBucket,
    accessKeyId,
    secretAccessKey,
    issuer: 'versitygw',
  };
}

function isContainer(folder: StateFolder, name: ServerName): boolean {
  const known = folder.state.processes[name];
  return known !== undefined && 'container' in known;
}

/** The first failure ends the others too, and is the one that is told. */
async function allOrNone(run: Run, works: readonly ((run: Run) => Promise<void>)[]): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([run.signal, failed.signal]);
  let first: unknown;
  await Promise.all(
    works.map(async (work) => {
      try {
        await work({ ...run, signal });
      } catch (error) {
        if (!signal.aborted) first = error;
        failed.abort();
      }
    }),
  );
  run.signal.throwIfAborted();
  if (failed.signal.aborted) throw first;
}

const downloads: Record<ServerName, Download> = {
  kafka: kafkaDownload,
  mongod: mongodDownload,
  s3: s3Download,
};

/** Without a run it can only be asked whether it answers. */
export function describeServer(name: ServerName, run?: Run, options?: ServerOptions): Startable {
  const home = async () => {
    if (!run) throw new Error(`${name} was described to be asked, not to be started`);
    return cached(downloads[name], run.report, run.signal);
  };
  if (name === 'kafka') return kafkaServer(home);
  return name === 'mongod' ? mongodServer(home, options?.mongodCacheGb ?? 1) : s3Server(home);
}

/** One after the other, so that no two are given the same port. */
async function settleServerPorts(
  run: Run,
  names: readonly ServerName[],
  options: ServerOptions,
): Promise<void> {
  for (const name of names) await settlePorts(run, describeServer(name, run, options).ports);
}

async function startInContainers(
  run: Run,
  names: readonly ServerName[],
  options: ServerOptions,
): Promise<void> {
  const unknown = names.filter((name) => !isContainer(run.folder, name));
  await settleServerPorts(run, unknown, options);
  await allOrNone(
    run,
    names.map((name) => (local) => startContainer(local, describeServer(name, local, options))),
  );
}

async function startLocally(run: Run, names: readonly ServerName[], options: ServerOptions): Promise<void> {
  const missing = names.filter((name) => !runningProcess(run.folder, name));
  // Every complaint about a tool comes before the first byte is fetched.
  if (missing.includes('kafka')) await needJava(kafkaAlternative);
  for (const name of missing) checkTools(downloads[name]);
  await allOrNone(
    run,
    missing.map((name) => async (local) => {
      await cached(downloads[name], local.report, local.signal);
    }),
  );
  await settleServerPorts(run, missing, options);
  await allOrNone(
    run,
    names.map((name) => (local) => ensureRunning(local, describeServer(name, local, options))),
  );
}

export async function startServers(run: Run, options: ServerOptions): Promise<ServerAddresses> {
  const { folder, report } = run;
  const given = givenInEnvironment(options.env);
  const s3Given = given.s3 ? s3Address(options.env, true, folder) : undefined;
  const names = (['kafka', 'mongod', 's3'] as const).filter((name) => !given[name]);
  for (const name of ['kafka', 'mongod', 's3'] as const) {
    if (given[name]) report(`${name}: the address in the environment`);
  }
  const docker =
    names.some((name) => isContainer(folder, name)) || (names.length > 0 && (await dockerAnswers()));
  if (docker) await startInContainers(run, names, options);
  else await startLocally(run, names, options);
  const { ports } = folder.state;
  const addresses: ServerAddresses = {
    kafkaBrokers: given.kafka ? options.env.HEADRACE_KAFKA_BROKERS!.split(',') : [`127.0.0.1:${ports.kafka}`],
    mongoUrl: given.mongod ? options.env.HEADRACE_MONGO_URL! : mongoUrl(ports.mongod!),
    s3: s3Given ?? s3Address(options.env, false, folder),
  };
  if (!given.s3) await makeSharedBucket(addresses.s3);
  folder.state.addresses = addresses;
  folder.save();
  return addresses;
}
