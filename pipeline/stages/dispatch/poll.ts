/**
 * Polls MongoDB while something is awaited: on a hint, otherwise with backoff. All state is in MongoDB, so a new dispatcher needs nothing
 * from this process.
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

export function createPoll(
  { isNeeded, look }: Look,
  step: Pick<DispatchStep, 'pause' | 'signal'>,
  { listen, onError }: PollOptions,
) {
  let running = false;
  let pause = MIN_PAUSE_MS;
  /** Duration of the last look. */
  let lookMs = 0;
  let isNews = false;
  let endPause = () => {};
  listen?.(() => {
    isNews = true;
    endPause();
  }, step.signal);

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
      isNews = false;
      const began = performance.now();
      const changed = await look();
      lookMs = performance.now() - began;
      pause = changed ? MIN_PAUSE_MS : Math.min(MAX_PAUSE_MS, pause * 1.3);
    }
  }

  /** Call it when something is awaited. */
  return function wake(): void {
    pause = MIN_PAUSE_MS;
    if (running) return;
    running = true;
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
