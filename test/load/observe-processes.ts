/** CPU time and memory of processes, from /proc. */
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const sampleEveryMs = 200;

export interface ProcessUse {
  readonly cpuSeconds: number;
  /** Highest sample during the measurement. */
  readonly peakRssMb: number;
  /** VmHWM: the peak since the process started. */
  readonly highWaterMb: number;
}

/** Of a process with all its threads, without its children. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may contain spaces and parentheses; the fields start after its last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function memoryMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024;
}

/** A process that has exited, or a system without /proc, counts as zero. */
function orZero(read: () => number): number {
  try {
    return read();
  } catch {
    return 0;
  }
}

interface ProcessWatch<Name extends string> {
  /** Ends the measurement. */
  stop(): Record<Name, ProcessUse>;
}

export function watchProcesses<Name extends string>(pids: Record<Name, number>): ProcessWatch<Name> {
  const entries = Object.entries(pids) as [Name, number][];
  const cpuBefore = new Map(entries.map(([name, pid]) => [name, orZero(() => cpuSeconds(pid))]));
  const peaks = new Map<Name, number>(entries.map(([name]) => [name, 0]));
  const sample = () => {
    for (const [name, pid] of entries) {
      peaks.set(
        name,
        Math.max(
          peaks.get(name)!,
          orZero(() => memoryMb(pid, 'VmRSS')),
        ),
      );
    }
  };
  sample();
  const timer = setInterval(sample, sampleEveryMs);
  return {
    stop() {
      clearInterval(timer);
      sample();
      const use = entries.map(([name, pid]) => [
        name,
        {
          cpuSeconds: orZero(() => cpuSeconds(pid)) - cpuBefore.get(name)!,
          peakRssMb: peaks.get(name)!,
          highWaterMb: orZero(() => memoryMb(pid, 'VmHWM')),
        },
      ]);
      return Object.fromEntries(use) as Record<Name, ProcessUse>;
    },
  };
}
