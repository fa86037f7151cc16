/** Starts Kafka, mongod and S3 in containers. Each keeps its data in a named volume, so that containers can be replaced at any time. */
import { appendFileSync } from 'node:fs';
import type { GenericContainer } from 'testcontainers';
import { arrivedText, reportArrival } from './cache.ts';
import {
  containerName,
  engine,
  ignoreMissing,
  inspect,
  isUp,
  lastLogLines,
  logOf,
  stopContainer,
  testcontainers,
  whereIsLog,
} from './docker.ts';
import { kafkaSettings } from './kafka-properties.ts';
import { defaultCacheGb, mongodArguments } from './mongod.ts';
import { kindOf, type ServerKind, type ServerName } from './names.ts';
import { canBind } from './ports.ts';
import { type Report, StartError } from './start-error.ts';
import type { StateFolder } from './state.ts';
import { attempts, portIsTaken, portWasTaken, type Run, type Startable, settlePorts } from './supervise.ts';
import { poll } from './wait.ts';

export const images: Record<ServerKind, string> = {
  kafka: 'apache/kafka:4.1.1',
  mongod: 'mongo:8.0',
  s3: 'versity/versitygw:v1.8.0',
};

/** Published on the loopback interface only: Kafka and mongod run without authentication. */
function onLoopback(Container: typeof GenericContainer): typeof GenericContainer {
  return class extends Container {
    override withExposedPorts(...ports: Parameters<GenericContainer['withExposedPorts']>): this {
      super.withExposedPorts(...ports);
      const published = (this.hostConfig.PortBindings ?? {}) as Record<string, { HostIp?: string }[]>;
      for (const binding of Object.values(published).flat()) binding.HostIp = '127.0.0.1';
      return this;
    }
  };
}

/** The same port inside and outside the container, so that the addresses that the servers advertise are correct. */
export function describeContainer(
  Generic: typeof GenericContainer,
  folder: StateFolder,
  name: ServerName,
  cacheGb = defaultCacheGb(),
): GenericContainer {
  const kind = kindOf(name);
  const { ports, secrets } = folder.state;
  const port = ports[name]!;
  const volume = (target: string) => [{ source: containerName(folder, name), target }];
  const container = new (onLoopback(Generic))(images[kind])
    .withName(containerName(folder, name))
    .withExposedPorts({ container: port, host: port });
  if (kind === 'kafka') {
    const logs = '/var/lib/kafka/data';
    const controllers = [ports.kafkaController!];
    const settings = kafkaSettings({ host: '0.0.0.0', node: 1, port, controllers, logs });
    const environment = Object.entries(settings).map(([key, value]) => [
      `KAFKA_${key.toUpperCase().replaceAll('.', '_')}`,
      String(value),
    ]);
    return container
      .withEnvironment({ CLUSTER_ID: secrets.kafkaClusterId, ...Object.fromEntries(environment) })
      .withBindMounts(volume(logs));
  }
  if (kind === 'mongod')
    return container
      .withCommand(['mongod', '--bind_ip_all', '--port', String(port), ...mongodArguments(cacheGb)])
      .withBindMounts(volume('/data/db'));
  return container
    .withEnvironment({ ROOT_ACCESS_KEY: secrets.s3AccessKeyId, ROOT_SECRET_KEY: secrets.s3SecretAccessKey })
    .withCommand([
      ...['--port', `:${port}`, '--keep-alive', '--quiet', '--health', '/_health'],
      ...['--iam-dir', '/data/users', 'posix', '--sidecar', '/data/metadata', '/data/files'],
    ])
    .withBindMounts(volume('/data'))
    .withCopyContentToContainer(
      ['users', 'metadata', 'files'].map((directory) => ({
        content: '',
        target: `/data/${directory}/.keep`,
      })),
    );
}

/** The engine's progress report about a layer. */
interface PullProgress {
  id?: string;
  status?: string;
  progressDetail?: { current?: number; total?: number };
}

/** Fails if an image cannot be pulled. */
export async function pullImages(names: readonly ServerName[], report: Report): Promise<void> {
  const docker = await engine();
  const pull = async (image: string) => {
    if (
      await docker
        .getImage(image)
        .inspect()
        .catch(() => undefined)
    )
      return;
    report(`pulling ${image} (first start only)`);
    const layers = new Map<string, { current: number; total: number }>();
    const note = ({ id, status, progressDetail }: PullProgress) => {
      const { current = 0, total = 0 } = progressDetail ?? {};
      if (status === 'Downloading' && id && total > 0) layers.set(id, { current, total });
    };
    const sum = (what: 'current' | 'total') => [...layers.values()].reduce((all, one) => all + one[what], 0);
    const arrived = () => (layers.size === 0 ? 'starting' : arrivedText(sum('current'), sum('total')));
    const stopReporting = reportArrival(() => `pulling ${image}: ${arrived()}`, report);
    try {
      const progress = await docker.pull(image);
      await new Promise<void>((resolve, reject) => {
        docker.modem.followProgress(progress, (error) => (error ? reject(error) : resolve()), note);
      });
    } catch (error) {
      throw new StartError('no_image', `cannot pull ${image}: ${(error as Error).message.trim()}`);
    } finally {
      stopReporting();
    }
  };
  await Promise.all([...new Set(names.map(kindOf))].map((kind) => pull(images[kind])));
}

/** Saves the log, because the next container begins a new one. */
async function removeOld(folder: StateFolder, name: ServerName): Promise<void> {
  const container = containerName(folder, name);
  if ((await inspect(container)) === undefined) return;
  appendFileSync(folder.log(name), await logOf(container), { mode: 0o600 });
  const docker = await engine();
  await docker.getContainer(container).remove({ force: true, v: true }).catch(ignoreMissing);
}

/** A remote engine publishes the ports on its own machine. A local engine binds a port before the server inside answers. */
const PUBLISHED_MS = 5_000;

async function waitUntilReady(
  run: Run,
  startable: Startable,
): Promise<'answers' | 'died' | 'elsewhere' | undefined> {
  const { folder, signal } = run;
  const container = containerName(folder, startable.name);
  const port = folder.state.ports[startable.ports[0]!]!;
  const since = performance.now();
  return poll(
    async () => {
      if (await startable.answers(folder)) return 'answers';
      const isElsewhere = performance.now() - since > PUBLISHED_MS && (await canBind(port, '127.0.0.1'));
      if (!(await inspect(container))?.Running) return 'died';
      return isElsewhere ? 'elsewhere' : undefined;
    },
    { deadlineMs: startable.deadlineMs, everyMs: 100, signal },
  );
}

async function startOnce(
  run: Run,
  startable: Startable & { name: ServerName },
  cacheGb: number | undefined,
): Promise<'answers' | 'port taken'> {
  const { folder, signal } = run;
  const { name } = startable;
  const container = containerName(folder, name);
  await removeOld(folder, name);
  signal.throwIfAborted();
  const { GenericContainer, Wait } = (await testcontainers())!;
  folder.state.processes[name] = { container, pid: 0 };
  folder.save();
  run.started.add(name);
  try {
    // Not testcontainers' check of the ports: inside a container it asks the gateway of the bridge, where nothing is published.
    const described = describeContainer(GenericContainer, folder, name, cacheGb);
    await described.withWaitStrategy(Wait.forAll([])).withAutoCleanup(false).start();
  } catch (error) {
    const { message } = error as Error;
    if (portIsTaken.test(message)) return 'port taken';
    const state = await inspect(container);
    if (state === undefined || state.Running || state.ExitCode === 0)
      throw new StartError('did_not_start', `cannot start the container ${container}: ${message.trim()}`);
  }
  folder.state.processes[name] = { container, pid: (await inspect(container))?.Pid ?? 0 };
  folder.save();
  const outcome = await waitUntilReady(run, startable);
  if (outcome === 'answers') return outcome;
  if (outcome === 'elsewhere')
    throw new StartError(
      'engine_elsewhere',
      `${name} runs in the container ${container}, but its port is not published on 127.0.0.1 of this machine: the Docker engine runs elsewhere. In a dev container, use docker-in-docker or the network of the host; or set HEADRACE_SERVERS=local to start local processes, or HEADRACE_KAFKA_BROKERS, HEADRACE_MONGO_URL and HEADRACE_S3_ENDPOINT to your own servers.`,
    );
  const exited = `exited during startup with code ${(await inspect(container))?.ExitCode}`;
  const what = outcome === 'died' ? exited : `was not ready within ${startable.deadlineMs / 1000} s`;
  throw new StartError(
    'did_not_start',
    `${name} ${what}. The end of ${whereIsLog(folder, name)}:\n${await lastLogLines(folder, name)}`,
  );
}

/** Does nothing if the container is running and ready. */
export async function startContainer(
  run: Run,
  startable: Startable & { name: ServerName },
  cacheGb?: number,
): Promise<void> {
  const { folder, report } = run;
  const { name } = startable;
  const container = containerName(folder, name);
  const since = Date.now();
  if (await isUp(folder, name)) {
    if ((await waitUntilReady(run, startable)) === 'answers')
      return report(`${name} is already running (container ${container})`);
    report(`${name} (container ${container}) does not respond: replacing it`);
    await stopContainer(container, 10_000);
  }
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if ((await startOnce(run, startable, cacheGb)) === 'answers') {
      const seconds = ((Date.now() - since) / 1000).toFixed(1);
      return report(
        `${name} is ready on port ${folder.state.ports[name]} after ${seconds} s (container ${container})`,
      );
    }
    // Another process took the port between our check and the engine's bind.
    await settlePorts(run, startable.ports, true);
  }
  throw portWasTaken(name);
}
