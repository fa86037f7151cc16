/** Waits for the end of a job and shows its progress. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient } from '../../../api/client/client.ts';
import { fractionDone, phaseText, remainingText, workText } from '../../../api/client/progress-text.ts';
import type { Progress } from '../../../api/client/types.ts';
import { linkedAbort } from '../../../pipeline/runtime/deadline.ts';
import { bar, joined, type ProgressLine } from '../progress-line.ts';
import { CommandError, exitCodes, interruption } from './exit-codes.ts';

export interface Followed {
  /** Such as `job 42`. */
  name: string;
  /** The path of its record; its progress is at `/progress` below. */
  path: string;
  /** The command that follows it again. */
  again: string;
}

interface FollowOptions {
  signal: AbortSignal;
  progress: ProgressLine;
  timeoutMs?: number;
}

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1_000;
/** Rides out a restart of the API or a short network failure. */
const MAX_LOST = 30;

interface Patient {
  maxLost: number;
  signal: AbortSignal;
}

const stillRunning = ({ name, again }: Pick<Followed, 'name' | 'again'>) =>
  new CommandError(
    exitCodes.stillRunning,
    'still_running',
    `${name} is still running; follow it with: ${again}`,
  );

export const progressText = (progress: Progress): string =>
  joined(phaseText(progress), workText(progress), remainingText(progress, Date.now()));

const line = (name: string, progress: Progress) =>
  joined(`${name}  ${bar(fractionDone(progress))}`.trimEnd(), progressText(progress));

/** Polls until `poll` returns a value; `poll` shows progress until then. */
export async function follow<T>(
  followed: Pick<Followed, 'name' | 'again'>,
  { signal, progress, timeoutMs }: FollowOptions,
  poll: (request: Patient, show: (line: string) => void) => Promise<T | undefined>,
): Promise<T> {
  const { controller, unlink } = linkedAbort(signal);
  const timeout = stillRunning(followed);
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => controller.abort(timeout), timeoutMs);
  const request = { maxLost: MAX_LOST, signal: controller.signal };
  try {
    for (let everyMs = FIRST_POLL_MS; ; everyMs = Math.min(MAX_POLL_MS, everyMs * 1.5)) {
      const ended = await poll(request, progress.show);
      if (ended !== undefined) return ended;
      await sleep(everyMs, undefined, { signal: controller.signal });
    }
  } catch (error) {
    if (signal.aborted)
      throw interruption(`interrupted; ${followed.name} continues. Follow it with: ${followed.again}`);
    throw controller.signal.aborted ? timeout : error;
  } finally {
    clearTimeout(timer);
    unlink();
    progress.clear();
  }
}

/** Returns when the job is done or has failed. */
export async function followJob(api: ApiClient, followed: Followed, options: FollowOptions): Promise<void> {
  await follow(followed, options, async (request, show) => {
    const { data } = await api.get<Progress>(`${followed.path}/progress`, request);
    if (data.phase === 'done' || data.phase === 'failed') return true;
    show(line(followed.name, data));
    return undefined;
  });
}
