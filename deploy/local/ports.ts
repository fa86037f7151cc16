import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { holdForLife } from './lock.ts';
import { StartError } from './start-error.ts';

export const defaultPorts = {
  api: 8080,
  apiMetrics: 8081,
  pipeline: 8082,
  kafka: 9092,
  kafkaController: 9093,
  'kafka-2': 9094,
  'kafkaController-2': 9095,
  'kafka-3': 9096,
  'kafkaController-3': 9097,
  kafkaSsl: 9192,
  'kafkaSsl-2': 9194,
  'kafkaSsl-3': 9196,
  mongod: 27017,
  'mongod-2': 27018,
  'mongod-3': 27019,
  s3: 7070,
} as const;
export type PortName = keyof typeof defaultPorts;
export type Ports = Record<PortName, number>;
/** Any free port for each. */
export const anyPorts = Object.fromEntries(Object.keys(defaultPorts).map((name) => [name, 0])) as Ports;

/** Binds the port for a moment. */
export function canBind(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Reserves the port until its server binds it: until then no other headrace of this user chooses it. */
function claim(port: number): boolean {
  const claims = join(tmpdir(), `headrace-ports-${userInfo().uid}`);
  mkdirSync(claims, { recursive: true, mode: 0o700 });
  return holdForLife(join(claims, String(port)));
}

/** A listener on 0.0.0.0 does not keep us from binding 127.0.0.1, although the port is in use: test both. */
async function claimIfFree(port: number): Promise<boolean> {
  return claim(port) && (await canBind(port, '127.0.0.1')) && (await canBind(port, '0.0.0.0'));
}

/**
 * Below the range of ephemeral ports, from which the system assigns outgoing connections: a restarted process finds its port
 * still free.
 */
const OUR_PORTS = { from: 12_000, to: 32_000 };

export async function anyFreePort(not: ReadonlySet<number> = new Set()): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(OUR_PORTS.from, OUR_PORTS.to);
    if (!not.has(port) && (await claimIfFree(port))) return port;
  }
  throw new StartError('no_free_port', 'found no free port on 127.0.0.1');
}

/** The first of the wanted ports that is free and not taken by one of our own processes, otherwise any free port. */
export async function choosePort(
  wanted: number | readonly number[],
  taken: ReadonlySet<number>,
): Promise<number> {
  for (const port of [wanted].flat())
    if (port !== 0 && !taken.has(port) && (await claimIfFree(port))) return port;
  return anyFreePort(taken);
}

/** An explicitly requested port. */
interface ExactPort {
  readonly port: number;
  /** The option or variable that requests it. */
  readonly from: string;
}
export type ExactPorts = Partial<Record<PortName, ExactPort>>;

export async function claimExactly({ port, from }: ExactPort, taken: ReadonlySet<number>): Promise<number> {
  if (port === 0) return anyFreePort(taken);
  if (!taken.has(port) && (await claimIfFree(port))) return port;
  throw new StartError(
    'port_taken',
    `port ${port} is in use by another process, and ${from} asks for it: stop that process, or choose another port`,
  );
}
