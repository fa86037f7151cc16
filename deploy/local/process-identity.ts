/**
 * Pids are reused, so a pid alone does not identify a process. Every process is recorded with its start time, and is signalled
 * only if both still match.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Undefined if there is no such process, or only a zombie. */
export function startedAt(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      // The name in parentheses may contain spaces. After its last ")" come state, ppid, … and, as the 20th field, the start time.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      // The main thread may have ended before others, which still hold the ports: fields[17] is the number of threads.
      const ended = fields[0] === 'X' || (fields[0] === 'Z' && Number(fields[17]) <= 1);
      if (ended) return undefined;
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
      return `${boot}:${fields[19]}`;
    }
    const [state, ...since] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state === undefined || state.startsWith('Z') ? undefined : since.join(' ');
  } catch {
    return undefined;
  }
}

export function identify(pid: number): ProcessIdentity | undefined {
  const started = startedAt(pid);
  return started === undefined ? undefined : { pid, started };
}

export function isRunning(identity: ProcessIdentity | undefined): identity is ProcessIdentity {
  return identity !== undefined && startedAt(identity.pid) === identity.started;
}

/** Signals the process, or its whole process group, if it is still the one we started. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals, wholeGroup = false): boolean {
  if (!isRunning(identity)) return false;
  try {
    process.kill(wholeGroup ? -identity.pid : identity.pid, name);
    return true;
  } catch {
    return false;
  }
}
