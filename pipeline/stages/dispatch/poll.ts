/**
 * Polls MongoDB while something is awaited: on a hint, otherwise with backoff, and rarely while hints come with every change, because the
 * other stages run in this process. All state is in MongoDB, so a new dispatcher needs nothing from this process.
 */
import type { DispatchStep } from './steps.ts';

interface Look {
  /** Whether anything is awaited. */
  isNeeded(): boolean;
  /** True if something has changed. */
  look(): Promise<boolean>;
}

interface PollOptions {
  /** Hints that something may have changed. */
  listen?(onNews: () => void, signal: AbortSignal): void;
  onError(error: unknown): void;
}

const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 100;
const MAX_SHARE_MS = 1_000;
/** After this many changes in a row that came with a hint, the next ones probably do, too. */
const ARE_HINTED = 8;

export function createPoll(
  { isNeeded, look }: Look,
  step: Pick<DispatchStep, 'pause' | 'signal'>,
  { listen, onError }: PollOptions,
) {
  let running = false;
  let pause = MIN_PAUSE_MS;
  let hintedChanges = 0;
  /** Duration of the last look. */
  let lookMs = 0;
  let isNews = false;
  let endPause = () => {};
  listen?.(() => {
    isNews = true;
    endPause();
  }, step.signal);

  const firstPause = () => (hintedChanges < ARE_HINTED ? MIN_PAUSE_MS : MAX_PAUSE_MS);

  async function untilNews(ms: number): Promise<void> {
    // Pause as long as the last look took, so that polling takes at most half of the time; limited in case MongoDB was down.
    const share = Math.min(MAX_SHARE_MS, lookMs);
    await step.pause(share);
    if (isNews || ms <= share) return;
    const news = new Promise<void>((resolve) => {
      endPause = resolve;
    });
    await Promise.race([news, step.pause(ms - share)]);
  }

  async function run(): Promise<void> {
    while (isNeeded()) {
      await untilNews(pause);
      const isHinted = isNews;
      isNews = false;
      const began = performance.now();
      const changed = await look();
      lookMs = performance.now() - began;
      if (changed) hintedChanges = isHinted ? hintedChanges + 1 : 0;
      pause = changed ? firstPause() : Math.min(MAX_PAUSE_MS, pause * 1.3);
    }
  }

  /** Call it when something is awaited. */
  return function wake(): void {
    pause = firstPause();
    if (running) return;
    running = true;
    // Hints of what was not awaited.
    isNews = false;
    run()
      .catch((error) => {
        if (!step.signal.aborted) onError(error);
      })
      .finally(() => {
        running = false;
        if (!step.signal.aborted && isNeeded()) wake();
      });
  };
}
