/**
 * Looks at MongoDB again and again while there is something to wait for: more seldom when nothing changes, and not at all when
 * nobody waits. What is seen decides, so nothing is held that a successor would have to be told.
 */
import type { Step } from '../../runtime/step.ts';

export interface Look {
  /** Whether somebody waits for what it may see. */
  isNeeded(): boolean;
  /** True if something has changed. */
  look(): Promise<boolean>;
}

const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
const MAX_SHARE_MS = 1_000;

export function createPoll(
  looks: Look[],
  step: Pick<Step<'dispatch'>, 'pause' | 'signal'>,
  onError: (error: unknown) => void,
) {
  let running = false;
  let pause = MIN_PAUSE_MS;
  const isNeeded = () => looks.some((one) => one.isNeeded());

  async function run(): Promise<void> {
    while (isNeeded()) {
      const began = performance.now();
      const changed = (await Promise.all(looks.map((one) => one.look()))).some(Boolean);
      pause = changed ? MIN_PAUSE_MS : Math.min(MAX_PAUSE_MS, pause * 1.3);
      // Asking takes a third of the time, however much is in flight; but one that waited for MongoDB to come back is no reason to
      // be silent for as long again.
      const share = Math.min(MAX_SHARE_MS, 2 * (performance.now() - began));
      await step.pause(Math.max(pause, share));
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
