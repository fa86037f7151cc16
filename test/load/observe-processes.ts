/** CPU time and memory of processes, from /proc. */
import { readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;
const sampleEveryMs = 200;

export interface ProcessUse {
  readonly cpuSeconds: number;
  /** The most that a sample has seen during the measurement. */
  readonly peakRssMb: number;
  /** The most since the process began, as the kernel has kept it. */
  readonly highWaterMb: number;
}

/** Of a process and all its threads; children that were waited for are not in it. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may hold anything, also spaces and parentheses; the fields begin behind its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function memoryMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024;
}

/** A process that has gone, or a system without /proc, shows as zero. */
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
