/** Waits for the end of a job and shows its progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fractionDone, phaseText, remainingText, workText } from '../../../api/client/progress-text.ts';
import type { Progress, Status } from '../../../api/client/types.ts';
import { bar, joined } from '../progress-line.ts';
import { CommandError, exitCodes, interruption } from './exit-codes.ts';
import type { CommandContext } from './run-command.ts';

interface Followed {
  /** Such as `job 42`. */
  name: string;
  /** The path of its record; its progress is at `/progress` below. */
  path: string;
  /** The command that follows it again. */
  again: string;
}

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1_000;
/** Rides out a restart of the API or a short network failure. */
const MAX_LOST = 30;

interface Patient {
  maxLost: number;
  signal: AbortSignal;
}

export const progressText = (progress: Progress): string =>
  joined(phaseText(progress), workText(progress), remainingText(progress, Date.now()));

const line = (name: string, progress: Progress) =>
  joined(`${name}  ${bar(fractionDone(progress))}`.trimEnd(), progressText(progress));

/** Polls until `poll` returns a value; `poll` shows progress until then. */
export async function follow<T>(
  { name, again }: Pick<Followed, 'name' | 'again'>,
  { signal, progress, timeoutMs }: CommandContext,
  poll: (request: Patient, show: (line: string) => void) => Promise<T | undefined>,
): Promise<T> {
  const timeout = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const either = AbortSignal.any([signal, ...timeout]);
  try {
    for (let everyMs = FIRST_POLL_MS; ; everyMs = Math.min(MAX_POLL_MS, everyMs * 1.5)) {
      const ended = await poll({ maxLost: MAX_LOST, signal: either }, progress.show);
      if (ended !== undefined) return ended;
      await sleep(everyMs, undefined, { signal: either });
    }
  } catch (error) {
    if (signal.aborted) throw interruption(`interrupted; ${name} continues. Follow it with: ${again}`);
    if (!either.aborted) throw error;
    throw new CommandError(
      exitCodes.stillRunning,
      'still_running',
      `${name} is still running; follow it with: ${again}`,
    );
  } finally {
    progress.clear();
  }
}

/** Returns when the job is done or has failed. */
async function followJob({ name, path, again }: Followed, context: CommandContext): Promise<void> {
  await follow({ name, again }, context, async (request, show) => {
    const { data } = await context.api.get<Progress>(`${path}/progress`, request);
    if (data.phase === 'done' || data.phase === 'failed') return true;
    show(line(name, data));
    return undefined;
  });
}

/** Follows the jobs one after the other and prints the record of each. */
export async function followJobs(
  context: CommandContext,
  jobs: readonly Followed[],
  print: (path: string) => Promise<{ status: Status }>,
): Promise<void> {
  const failed: string[] = [];
  for (const job of jobs) {
    try {
      await followJob(job, context);
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === exitCodes.stillRunning) await print(job.path);
      throw error;
    }
    if ((await print(job.path)).status === 3) failed.push(job.name);
  }
  if (failed.length > 0)
    throw new CommandError(exitCodes.jobFailed, 'job_failed', `${failed.join(', ')} failed`);
}
