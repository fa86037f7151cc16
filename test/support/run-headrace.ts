/** `headrace …` as a user runs it: collects its output, can send it signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { S3Client } from '@aws-sdk/client-s3';
import type { Environment } from '../../deploy/local/addresses.ts';

const headrace = fileURLToPath(new URL('../../deploy/headrace.mjs', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The output of `admin partner create --json`. */
export interface IssuedPartner {
  partner_id: string;
  api_key: string;
  s3: {
    endpoint: string;
    region: string;
    bucket: string;
    prefix: string;
    access_key_id: string;
    secret_access_key: string;
  };
}

/** Storage with the partner's keys. */
export const storageOf = ({ endpoint, region, access_key_id, secret_access_key }: IssuedPartner['s3']) =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
    maxAttempts: 1,
  });

export interface RunningHeadrace {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
}

/**
 * Omits the run's own HEADRACE_ settings, so that `up` starts servers as local processes, which tests inspect and kill, instead of
 * using the shared ones. Omits NODE_EXTRA_CA_CERTS too: every process would parse certificates that no test needs.
 */
export function cleanEnvironment(): Environment {
  const isLeftOut = (name: string) => name.startsWith('HEADRACE_') || name === 'NODE_EXTRA_CA_CERTS';
  const others = Object.entries(process.env).filter(([name]) => !isLeftOut(name));
  return { ...Object.fromEntries(others), HEADRACE_SERVERS: 'local' };
}

export function startHeadrace(
  args: readonly string[],
  env: Environment = {},
  { cwd, stdin = 'ignore' }: { cwd?: string | undefined; stdin?: 'ignore' | 'pipe' } = {},
): RunningHeadrace {
  const child = spawn(process.execPath, [headrace, ...args], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  return follow(child);
}

/** In its own process group, as in a terminal. */
export function startNpm(args: readonly string[], env: Environment = {}): RunningHeadrace {
  const child = spawn('npm', args, {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  return follow(child);
}

export function follow(child: ChildProcess): RunningHeadrace {
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  const outcome = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, outcome, stdout: () => stdout, stderr: () => stderr };
}

export function runHeadrace(args: readonly string[], env: Environment = {}, cwd?: string): Promise<Outcome> {
  return startHeadrace(args, env, { cwd }).outcome;
}

export function lastJsonLine<T>({ stdout }: Outcome): T {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as T;
}
