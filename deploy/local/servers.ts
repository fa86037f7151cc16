/**
 * Kafka, MongoDB and S3: at the address in the environment if there is one, otherwise in a container if a Docker engine is running,
 * otherwise as a local process.
 */
import { serversVariable } from '../../schemas/client-variables.ts';
import type { Environment, ServerAddresses } from './addresses.ts';
import { cached, checkTools, type Download } from './cache.ts';
import { pullImages, startContainer } from './containers.ts';
import { dockerAnswers, isUp } from './docker.ts';
import { kafkaAlternative, kafkaDownload, kafkaServer } from './kafka.ts';
import { mongodDownload, mongodServer, mongoUrl } from './mongod.ts';
import {
  type BrokerName,
  brokersOf,
  type Cluster,
  type ClusterSize,
  kindOf,
  type MemberName,
  memberNames,
  membersOf,
  type ServerKind,
  type ServerName,
  serversOf,
  settleCluster,
} from './names.ts';
import type { Ports } from './ports.ts';
import { makeSharedBucket, s3Download, s3Endpoint, s3Region, s3Server, sharedBucket } from './s3.ts';
import { kafkaLogin, prepareSecurity, superUser } from './security.ts';
import { StartError } from './start-error.ts';
import { clusterOf, type Runtime, type StateFolder } from './state.ts';
import { ensureRunning, type Run, runningProcess, type Startable, settlePorts } from './supervise.ts';
import { needJava, needTool } from './tools.ts';

export interface ServerOptions {
  readonly env: Environment;
  /** Default: the size that the data was created with, or one broker and one member. */
  readonly brokers?: ClusterSize;
  readonly members?: ClusterSize;
  /** With TLS and logins. Default: as the data was created. */
  readonly secure?: boolean;
  readonly mongodCacheGb?: number;
  /** The ports that brokers advertise, if these are not the ones they listen on. */
  readonly advertised?: Partial<Record<BrokerName, number>>;
  /** Start only these servers and leave the others as they are. Default: all. */
  readonly only?: readonly ServerName[];
}

const kinds = ['kafka', 'mongod', 's3'] as const;

function givenInEnvironment(env: Environment): Record<ServerKind, boolean> {
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
    `${name}: required, because the environment sets the address of an S3 server`,
  );
}

function s3Address(env: Environment, given: boolean, folder: StateFolder): ServerAddresses['s3'] {
  if (given) {
    return {
      endpoint: env.HEADRACE_S3_ENDPOINT ?? '',
      region: env.HEADRACE_S3_REGION ?? s3Region,
      bucket: needVariable(env, 'HEADRACE_S3_BUCKET'),
      accessKeyId: env.HEADRACE_S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: env.HEADRACE_S3_SECRET_ACCESS_KEY ?? '',
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

const isMember = (name: ServerName): name is MemberName => memberNames.includes(name as MemberName);

/** The first failure aborts the others, and is reported. */
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

const downloads: Record<ServerKind, Download> = {
  kafka: kafkaDownload,
  mongod: mongodDownload,
  s3: s3Download,
};

/** Without a run, only its health can be checked. */
export function describeServer(name: ServerName, run?: Run, options?: ServerOptions): Startable {
  const home = async () => {
    if (!run) throw new Error(`${name} was described without a run, so it cannot be started`);
    return cached(downloads[kindOf(name)], run.report, run.signal);
  };
  const { cluster, secure } = run?.folder.state ?? {};
  if (name === 's3') return s3Server(home);
  if (isMember(name)) return mongodServer(name, home, { cluster, cacheGb: options?.mongodCacheGb });
  return kafkaServer(name, home, { cluster, secure, advertised: options?.advertised?.[name] });
}

/** Sequential, so that no two get the same port. */
async function settleServerPorts(
  run: Run,
  names: readonly ServerName[],
  options: ServerOptions,
): Promise<void> {
  for (const name of names) await settlePorts(run, describeServer(name, run, options).ports);
}

/** Running members of a cluster know the others by their ports, so a restarted member needs its old ports. */
function checkPortsKept(run: Run, missing: readonly ServerName[], before: Partial<Ports>): void {
  const { ports } = run.folder.state;
  const cluster = clusterOf(run.folder.state);
  for (const name of missing) {
    const group: readonly ServerName[] = isMember(name) ? membersOf(cluster) : brokersOf(cluster);
    if (name === 's3' || group.every((other) => missing.includes(other))) continue;
    const moved = describeServer(name, run).ports.find((port) => ports[port] !== before[port]);
    if (moved === undefined) continue;
    const taken = before[moved];
    run.folder.state.ports = before;
    run.folder.save();
    throw new StartError(
      'port_taken',
      `${name} cannot be restarted: its port ${taken} is in use. Stop the process that uses it, or restart the whole cluster with headrace down and headrace up`,
    );
  }
}

const placeOf: Record<Runtime, string> = {
  docker: 'volumes of the Docker engine',
  local: 'the folder, of local processes',
};

function wantedRuntime(env: Environment, known: Runtime | undefined): Runtime | undefined {
  const wanted = env[serversVariable] || undefined;
  if (wanted !== undefined && wanted !== 'docker' && wanted !== 'local')
    throw new StartError('bad_variable', `${serversVariable}: expected docker or local, not ${wanted}`);
  if (known && wanted && known !== wanted)
    throw new StartError(
      'other_runtime',
      `the data of this state folder is in ${placeOf[known]}, but ${serversVariable} is ${wanted}: choose another folder with --state, or delete the data with headrace down --purge`,
    );
  return known ?? wanted;
}

/** Default: containers, if there is an engine that has or can pull the images. */
async function chooseRuntime(
  { folder, report }: Run,
  names: readonly ServerName[],
  env: Environment,
): Promise<Runtime> {
  const { state } = folder;
  const wanted = wantedRuntime(env, state.runtime);
  const isCluster = Object.values(clusterOf(state)).some((size) => size > 1);
  if (wanted === 'local') return wanted;
  if (isCluster || state.secure) {
    if (wanted === undefined) return 'local';
    throw new StartError(
      'not_in_containers',
      `clusters and --secure run as local processes only, but ${serversVariable} is docker: remove one of the two`,
    );
  }
  if (wanted === undefined && !(await dockerAnswers())) return 'local';
  try {
    await pullImages(names, report);
    return 'docker';
  } catch (error) {
    if (wanted !== undefined || !(error instanceof StartError)) throw error;
    report(`${error.message}; starting local processes instead`);
    return 'local';
  }
}

async function startInContainers(
  run: Run,
  names: readonly ServerName[],
  options: ServerOptions,
): Promise<void> {
  const running = await Promise.all(names.map((name) => isUp(run.folder, name)));
  await settleServerPorts(
    run,
    names.filter((_, i) => !running[i]),
    options,
  );
  await allOrNone(
    run,
    names.map(
      (name) => (local) =>
        startContainer(local, { ...describeServer(name, local, options), name }, options.mongodCacheGb),
    ),
  );
}

async function startLocally(run: Run, names: readonly ServerName[], options: ServerOptions): Promise<void> {
  const missing = names.filter((name) => !runningProcess(run.folder, name));
  const needed = kinds.filter((kind) => missing.some((name) => kindOf(name) === kind));
  // Check for all tools before downloading anything.
  if (needed.includes('kafka')) await needJava(kafkaAlternative);
  for (const kind of needed) checkTools(downloads[kind]);
  await allOrNone(
    run,
    needed.map((kind) => async (local) => {
      await cached(downloads[kind], local.report, local.signal);
    }),
  );
  const before = { ...run.folder.state.ports };
  await settleServerPorts(run, missing, options);
  checkPortsKept(run, missing, before);
  await allOrNone(
    run,
    names.map((name) => (local) => ensureRunning(local, describeServer(name, local, options))),
  );
}

function settleSecurity(
  { state }: StateFolder,
  { secure }: ServerOptions,
  wasUp: boolean,
  given: Record<ServerKind, boolean>,
): void {
  if (!secure || state.secure) return;
  if (given.kafka || given.mongod)
    throw new StartError(
      'not_ours',
      '--secure starts local servers, but HEADRACE_KAFKA_BROKERS or HEADRACE_MONGO_URL is set: remove one of the two',
    );
  if (wasUp)
    throw new StartError(
      'not_secure',
      'the data in this state folder was made without --secure: choose another folder with --state, or delete the data with headrace down --purge',
    );
  state.secure = true;
}

function settleSize({ folder }: Run, options: ServerOptions, given: Record<ServerKind, boolean>): void {
  const { env, brokers, members } = options;
  const variables = { brokers: 'HEADRACE_KAFKA_BROKERS', members: 'HEADRACE_MONGO_URL' } as const;
  for (const [what, wanted] of Object.entries({ brokers, members }) as [
    keyof Cluster,
    number | undefined,
  ][]) {
    if (wanted !== undefined && given[what === 'brokers' ? 'kafka' : 'mongod'])
      throw new StartError(
        'not_ours',
        `--${what} ${wanted} starts local servers, but ${variables[what]} is set to ${env[variables[what]]}: remove one of the two`,
      );
  }
  const wasUp = folder.state.cluster !== undefined || folder.state.addresses !== undefined;
  const known = wasUp ? clusterOf(folder.state) : undefined;
  folder.state.cluster = settleCluster(known, { brokers, members });
  settleSecurity(folder, options, wasUp, given);
  folder.save();
}

export async function startServers(run: Run, options: ServerOptions): Promise<ServerAddresses> {
  const { folder, report } = run;
  const given = givenInEnvironment(options.env);
  const s3Given = given.s3 ? s3Address(options.env, true, folder) : undefined;
  settleSize(run, options, given);
  const cluster = clusterOf(folder.state);
  const ours = serversOf(cluster).filter((name) => !given[kindOf(name)]);
  for (const kind of kinds) {
    if (given[kind]) report(`${kind}: using the address from the environment`);
  }
  const names = options.only ? ours.filter((name) => options.only!.includes(name)) : ours;
  const { secure } = folder.state;
  if (secure) {
    needTool('openssl', 'make certificates', kafkaAlternative);
    await prepareSecurity(folder);
  }
  if (names.length > 0) {
    folder.state.runtime = await chooseRuntime(run, names, options.env);
    folder.save();
    const start = folder.state.runtime === 'docker' ? startInContainers : startLocally;
    await start(run, names, options);
  }
  const addresses: ServerAddresses = {
    kafkaBrokers: given.kafka
      ? options.env.HEADRACE_KAFKA_BROKERS!.split(',')
      : brokersOf(cluster).map(
          (name) => `127.0.0.1:${options.advertised?.[name] ?? folder.state.ports[name]}`,
        ),
    mongoUrl: given.mongod ? options.env.HEADRACE_MONGO_URL! : mongoUrl(folder),
    ...(secure ? { logins: kafkaLogin(folder, superUser) } : {}),
    ...(given.kafka || cluster.brokers === 1 ? {} : { replicationFactor: cluster.brokers }),
    s3: s3Given ?? s3Address(options.env, false, folder),
  };
  if (!given.s3 && names.includes('s3')) await makeSharedBucket(addresses.s3);
  folder.state.addresses = addresses;
  folder.save();
  return addresses;
}
