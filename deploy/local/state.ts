/** The state folder: data, logs, and a file with ports, secrets and processes. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ServerAddresses } from './addresses.ts';
import { type Cluster, type ProcessName, single } from './names.ts';
import type { Ports } from './ports.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { StartError } from './start-error.ts';

const stateVersion = 2;
const fileName = 'state.json';
const lockName = 'state.lock';

export type Running = ProcessIdentity | { readonly container: string; readonly pid: number };

/** Containers with volumes, or processes with folders. */
export type Runtime = 'docker' | 'local';

export interface State {
  readonly product: 'headrace';
  readonly version: number;
  /** The number of brokers and members; fixed by the first start. Absent: one of each. */
  cluster?: Cluster;
  /** With TLS and logins; fixed by the first start. */
  secure?: boolean;
  /** Where the servers run; fixed by the first start, because their data is there. */
  runtime?: Runtime;
  ports: Partial<Ports>;
  readonly secrets: {
    readonly headrace: string;
    readonly s3AccessKeyId: string;
    readonly s3SecretAccessKey: string;
    readonly kafkaClusterId: string;
    /** The users' passwords are derived from this. */
    readonly passwords: string;
  };
  processes: Partial<Record<ProcessName, Running>>;
  /** Left running in the background by `up --detach`. Otherwise the stack belongs to the holder of the owner's lock. */
  detached?: boolean;
  addresses?: ServerAddresses;
  /** The installation id of our MongoDB, to detect that another stack has taken its address. */
  installation?: string;
  /** The HEADRACE_ settings of the last start, for commands that are given only the folder. */
  settings?: Record<string, string>;
  /** The partner that the demo has created; only the demo reads it. */
  demo?: unknown;
}

export const clusterOf = ({ cluster }: Pick<State, 'cluster'>): Cluster => cluster ?? single;

export interface StateFolder {
  readonly directory: string;
  readonly state: State;
  save(): void;
  data(name: ProcessName): string;
  log(name: ProcessName): string;
}

/** A random id in Kafka's format. Its first bit is 0, so that it never begins with a dash, like an option of Kafka's tools. */
function newClusterId(): string {
  const bytes = randomBytes(16);
  bytes[0]! &= 0x7f;
  return bytes.toString('base64url');
}

function newState(): State {
  return {
    product: 'headrace',
    version: stateVersion,
    ports: {},
    secrets: {
      headrace: randomBytes(32).toString('base64'),
      s3AccessKeyId: `root${randomBytes(8).toString('hex')}`,
      s3SecretAccessKey: randomBytes(24).toString('hex'),
      kafkaClusterId: newClusterId(),
      passwords: randomBytes(32).toString('hex'),
    },
    processes: {},
  };
}

function parse(file: string): State {
  let state: Partial<State> | null = null;
  try {
    state = JSON.parse(readFileSync(file, 'utf8')) as Partial<State> | null;
  } catch {
    // Reported below, like any other foreign file.
  }
  if (state?.product !== 'headrace') {
    throw new StartError(
      'bad_state',
      `${file} is not a headrace state file: choose another folder with --state`,
    );
  }
  if (state.version !== stateVersion) {
    throw new StartError(
      'state_version',
      `${file} has version ${state.version}, but this headrace supports version ${stateVersion}: stop it with the headrace that created it, or choose another folder with --state`,
    );
  }
  return state as State;
}

function folder(directory: string, state: State): StateFolder {
  const inside = (kind: string, name: string) => {
    mkdirSync(join(directory, kind), { recursive: true, mode: 0o700 });
    return join(directory, kind, name);
  };
  return {
    directory,
    state,
    /** Atomic: writes a temporary file and renames it. */
    save() {
      const file = join(directory, fileName);
      writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
      renameSync(`${file}.${process.pid}`, file);
    },
    data: (name) => inside('data', name),
    log: (name) => inside('logs', `${name}.log`),
  };
}

/** Held by the process in whose terminal the stack runs, and which stops the stack when it ends. */
export function ownerLock(directory: string): string {
  return `${stateLock(directory)}.owner`;
}

export function stateLock(directory: string): string {
  return join(resolve(directory), lockName);
}

/** Undefined if no stack has been started there. */
export function readState(path: string): StateFolder | undefined {
  const directory = resolve(path);
  const file = join(directory, fileName);
  return existsSync(file) ? folder(directory, parse(file)) : undefined;
}

/** Refuses a folder that contains other files, before changing anything in it. */
export function prepareStateFolder(path: string): void {
  const directory = resolve(path);
  if (readState(directory) !== undefined) return;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const strangers = readdirSync(directory).filter((name) => !name.startsWith(lockName));
  if (strangers.length > 0) {
    throw new StartError(
      'foreign_folder',
      `${directory} contains other files (${strangers.slice(0, 3).join(', ')}): choose an empty folder with --state`,
    );
  }
}

/** Requires the lock of the folder. */
export function openState(path: string): StateFolder {
  prepareStateFolder(path);
  const found = readState(path);
  if (found) return found;
  const opened = folder(resolve(path), newState());
  opened.save();
  return opened;
}
