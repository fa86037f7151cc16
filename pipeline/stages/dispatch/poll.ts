/**
 * Polls MongoDB while something is awaited: at a hint, otherwise with a growing pause. Only what is stored counts, so a successor needs
 * nothing from this process.
 */
import type { DispatchStep } from './steps.ts';

interface Look {
  /** Whether anything is awaited. */
  isNeeded(): boolean;
  /** True if something has changed. */
  look(): Promise<boolean>;
}

interface PollOptions {
  /** Calls back when there may be something to see. */
  listen?(onNews: () => void, signal: AbortSignal): void;
  onError(error: unknown): void;
}

const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 100;
const MAX_SHARE_MS = 1_000;

export function createPoll(
  looks: Look[],
  step: Pick<DispatchStep, 'pause' | 'signal'>,
  { listen, onError }: PollOptions,
) {
  let running = false;
  let pause = MIN_PAUSE_MS;
  /** How long the last look took. */
  let lookMs = 0;
  let isNews = false;
  let endPause = () => {};
  const isNeeded = () => looks.some((one) => one.isNeeded());
  listen?.(() => {
    isNews = true;
    endPause();
  }, step.signal);

  async function untilNews(ms: number): Promise<void> {
    // Polling takes at most half of the time, however much is in flight; the pause is bounded after an outage of MongoDB.
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
      const changed = (await Promise.all(looks.map((one) => one.look()))).some(Boolean);
      lookMs = performance.now() - began;
      pause = changed ? MIN_PAUSE_MS : Math.min(MAX_PAUSE_MS, pause * 1.3);
    }
  }

  /** Call it when there is something to wait for. */
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
