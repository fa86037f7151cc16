/** Stops the processes and containers of a stack. */
import { stopProcess } from './child.ts';
import { type ProcessName, stopOrder } from './names.ts';
import type { Report } from './start-error.ts';
import type { StateFolder } from './state.ts';
import { runningProcess } from './supervise.ts';

const stopDeadlineMs: Record<(typeof stopOrder)[number][0], number> = {
  api: 30_000,
  pipeline: 30_000,
  kafka: 120_000,
  s3: 30_000,
  mongod: 120_000,
};

async function stopOne(
  folder: StateFolder,
  name: ProcessName,
  { deadlineMs, report }: { deadlineMs: number; report: Report },
): Promise<void> {
  const known = folder.state.processes[name];
  const running = runningProcess(folder, name);
  if (known && ('container' in known || running)) {
    const clean = await ('container' in known
      ? (await import('./docker.ts')).stopContainer(known.container, deadlineMs)
      : stopProcess(known, deadlineMs));
    report(
      clean || deadlineMs === 0
        ? `${name} stopped`
        : `${name} did not stop within ${deadlineMs / 1000} s and was killed`,
    );
  }
  delete folder.state.processes[name];
  folder.save();
}

/**
 * In flow order, so that each process can finish its work with its servers still running. Brokers stop in parallel, and so do members:
 * otherwise the last one of a cluster would wait for a majority.
 */
export async function stopProcesses(
  folder: StateFolder,
  report: Report,
  {
    which,
    killServers = false,
  }: {
    which?: ReadonlySet<ProcessName>;
    /** Skips the clean shutdown, if the data is deleted anyway. */
    killServers?: boolean;
  } = {},
): Promise<void> {
  for (const group of stopOrder) {
    const [kind] = group;
    const isOurs = kind === 'api' || kind === 'pipeline';
    const deadlineMs = killServers && !isOurs ? 0 : stopDeadlineMs[kind];
    const names = group.filter((name) => which?.has(name) ?? true);
    await Promise.all(names.map((name) => stopOne(folder, name, { deadlineMs, report })));
  }
}
