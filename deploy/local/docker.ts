/** The three servers in containers, if a Docker engine is running. A stopped container keeps its data; a purge removes it. */
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { GenericContainer } from 'testcontainers';
import { kafkaSettings } from './kafka-properties.ts';
import type { ProcessName } from './names.ts';
import { StartError } from './start-error.ts';
import type { StateFolder } from './state.ts';
import type { Run, Startable } from './supervise.ts';
import { poll } from './wait.ts';

/** A development dependency: an installation without it cannot use Docker. */
async function testcontainers(): Promise<typeof import('testcontainers') | undefined> {
  return import('testcontainers').catch(() => undefined);
}

function socketAnswers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Checks the socket first, so that testcontainers is loaded only if there is one. */
export async function dockerAnswers(): Promise<boolean> {
  const given = process.env.DOCKER_HOST;
  const usual = ['/var/run/docker.sock', join(homedir(), '.docker', 'run', 'docker.sock')];
  const socket = given?.startsWith('unix://') ? given.slice('unix://'.length) : usual.find(existsSync);
  const reachable =
    given && !given.startsWith('unix://') ? true : socket !== undefined && (await socketAnswers(socket));
  return reachable && (await testcontainers()) !== undefined;
}

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
  name: ProcessName,
): GenericContainer {
  const Container = onLoopback(Generic);
  const { ports, secrets } = folder.state;
  const published = (port: number) => ({ container: port, host: port });
  if (name === 'kafka') {
    const settings = kafkaSettings({
      host: '0.0.0.0',
      node: 1,
      port: ports.kafka!,
      controllers: [ports.kafkaController!],
      logs: '/var/lib/kafka/data',
    });
    const environment = Object.entries(settings).map(([key, value]) => [
      `KAFKA_${key.toUpperCase().replaceAll('.', '_')}`,
      String(value),
    ]);
    return new Container('apache/kafka:4.1.1')
      .withEnvironment({ CLUSTER_ID: secrets.kafkaClusterId, ...Object.fromEntries(environment) })
      .withExposedPorts(published(ports.kafka!));
  }
  if (name === 'mongod') {
    return new Container('mongo:6.0')
      .withCommand(['mongod', '--replSet', 'rs0', '--bind_ip_all', '--port', String(ports.mongod)])
      .withExposedPorts(published(ports.mongod!));
  }
  return new Container('versity/versitygw:v1.8.0')
    .withEnvironment({ ROOT_ACCESS_KEY: secrets.s3AccessKeyId, ROOT_SECRET_KEY: secrets.s3SecretAccessKey })
    .withCommand([
      ...['--port', `:${ports.s3}`, '--keep-alive', '--quiet', '--health', '/_health'],
      ...['--iam-dir', '/tmp/users', 'posix', '--sidecar', '/tmp/metadata', '/tmp/files'],
    ])
    .withCopyContentToContainer([
      { content: '', target: '/tmp/users/.keep' },
      { content: '', target: '/tmp/metadata/.keep' },
      { content: '', target: '/tmp/files/.keep' },
    ])
    .withExposedPorts(published(ports.s3!));
}

async function containerClient() {
  const library = await testcontainers();
  if (!library)
    throw new StartError(
      'no_testcontainers',
      'the containers of this state folder need the package testcontainers: run npm ci',
    );
  return (await library.getContainerRuntimeClient()).container;
}

/** The pid of its main process, or undefined if it is not running. */
async function containerPid(id: string): Promise<number | undefined> {
  const client = await containerClient();
  const inspected = await client.inspect(client.getById(id)).catch(() => undefined);
  return inspected?.State.Running ? inspected.State.Pid : undefined;
}

export async function startContainer(run: Run, startable: Startable): Promise<void> {
  const { folder, report } = run;
  const { name } = startable;
  const known = folder.state.processes[name];
  const client = await containerClient();
  let id = known && 'container' in known ? known.container : undefined;
  if (id !== undefined && (await containerPid(id)) === undefined) {
    await client.start(client.getById(id)).catch(() => {
      id = undefined;
    });
  }
  if (id === undefined) {
    const { GenericContainer } = (await testcontainers())!;
    report(`starting ${name} in a container`);
    id = (await describeContainer(GenericContainer, folder, name).withAutoCleanup(false).start()).getId();
  }
  run.started.add(name);
  folder.state.processes[name] = { container: id, pid: (await containerPid(id)) ?? 0 };
  folder.save();
  const answered = await poll(() => startable.answers(folder), {
    deadlineMs: startable.deadlineMs,
    signal: run.signal,
  });
  if (!answered)
    throw new StartError('did_not_start', `${name} does not respond: see docker logs ${id.slice(0, 12)}`);
  report(`${name} is ready (container ${id.slice(0, 12)})`);
}

export async function stopContainer(id: string): Promise<void> {
  if ((await containerPid(id)) === undefined) return;
  const client = await containerClient();
  await client.stop(client.getById(id), { timeout: 30 });
}

export async function removeContainer(id: string): Promise<void> {
  const client = await containerClient();
  await client.remove(client.getById(id), { removeVolumes: true }).catch(() => {});
}
