/** The Docker engine, and the containers of a stack: names, states, logs, stopping and removal. */
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ContainerRuntimeClient } from 'testcontainers';
import { lastLines } from './child.ts';
import { type ProcessName, type ServerName, serversOf, single } from './names.ts';
import { StartError } from './start-error.ts';
import type { StateFolder } from './state.ts';
import { runningProcess } from './supervise.ts';

/** A development dependency: production installations cannot use Docker. */
export async function testcontainers(): Promise<typeof import('testcontainers') | undefined> {
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

type Docker = ContainerRuntimeClient['container']['dockerode'];
let connected: Docker | undefined;

export async function engine(): Promise<Docker> {
  if (connected) return connected;
  const library = await testcontainers();
  if (!library)
    throw new StartError(
      'no_testcontainers',
      'the containers of this state folder need the package testcontainers: run npm ci',
    );
  // testcontainers would also look for engines other than DOCKER_HOST.
  if (!(await dockerAnswers()))
    throw new StartError(
      'no_docker',
      'no Docker engine responds, but the servers of this state folder run in containers: start the engine and repeat the command',
    );
  connected = (await library.getContainerRuntimeClient()).container.dockerode;
  return connected;
}

/** The name of a server's container, and of its volume. */
export function containerName({ state }: StateFolder, name: ProcessName): string {
  const id = Buffer.from(state.secrets.kafkaClusterId, 'base64url').toString('hex').slice(0, 8);
  return `headrace-${id}-${name}`;
}

type ContainerState = { Running: boolean; Pid: number; ExitCode: number };

/** Undefined if there is no such container. */
export async function inspect(container: string): Promise<ContainerState | undefined> {
  try {
    return (await (await engine()).getContainer(container).inspect()).State;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}

/** Whether a process or a container of the stack runs. */
export async function isUp(folder: StateFolder, name: ProcessName): Promise<boolean> {
  const known = folder.state.processes[name];
  if (known && 'container' in known) return (await inspect(known.container))?.Running ?? false;
  return runningProcess(folder, name) !== undefined;
}

/** The log of a container, without the 8-byte header of each frame. */
export async function logOf(container: string, tail?: number): Promise<string> {
  const options = { follow: false, stdout: true, stderr: true, ...(tail ? { tail } : {}) } as const;
  const all = await (await engine()).getContainer(container).logs(options);
  let text = '';
  for (let at = 0; at + 8 <= all.length; ) {
    const end = at + 8 + all.readUInt32BE(at + 4);
    text += all.toString('utf8', at + 8, end);
    at = end;
  }
  return text;
}

/** The last lines of a process or a container. */
export async function lastLogLines(folder: StateFolder, name: ProcessName, count = 15): Promise<string> {
  const known = folder.state.processes[name];
  if (!known || !('container' in known)) return lastLines(folder.log(name), count);
  return (await logOf(known.container, count).catch(() => '(no log)')).trimEnd();
}

export const ignoreMissing = (error: { statusCode?: number }) => {
  if (error.statusCode !== 404) throw error;
};

/** SIGTERM, then SIGKILL after the deadline; true if no SIGKILL was needed. */
export async function stopContainer(container: string, deadlineMs: number): Promise<boolean> {
  const killed = 137;
  const before = await inspect(container);
  if (!before?.Running) return true;
  const stopping = (await engine()).getContainer(container).stop({ t: Math.ceil(deadlineMs / 1_000) });
  await stopping.catch((error: { statusCode?: number }) => {
    if (error.statusCode !== 304) ignoreMissing(error);
  });
  return (await inspect(container))?.ExitCode !== killed;
}

export async function removeContainers(folder: StateFolder): Promise<void> {
  const docker = await engine();
  for (const name of serversOf(single)) {
    const container = containerName(folder, name);
    await docker.getContainer(container).remove({ force: true, v: true }).catch(ignoreMissing);
    await docker.getVolume(container).remove().catch(ignoreMissing);
  }
}

const isServer = (name: ProcessName): name is ServerName => name !== 'api' && name !== 'pipeline';

/** The file with the log of a process, or the command that shows the log of a container. */
export const whereIsLog = (folder: StateFolder, name: ProcessName): string =>
  folder.state.runtime === 'docker' && isServer(name)
    ? `docker logs ${containerName(folder, name)}`
    : folder.log(name);
