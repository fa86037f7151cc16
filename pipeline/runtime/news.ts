/**
 * News between the threads of a process: there may be something new to see in MongoDB. It can be missed, and come for nothing: whoever
 * waits for it looks after a while in any case, because what other processes do is no news here.
 */
import { BroadcastChannel } from 'node:worker_threads';

export type News = ReturnType<typeof createNews>;

const CHANNEL = 'headrace-news';

export function createNews() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.unref();

  return {
    tell: (): void => channel.postMessage(null),

    /** Until the signal is aborted. */
    listen(onNews: () => void, signal: AbortSignal): void {
      if (signal.aborted) return;
      // A channel of its own: one does not hear what it says itself.
      const heard = new BroadcastChannel(CHANNEL);
      heard.unref();
      heard.onmessage = onNews;
      signal.addEventListener('abort', () => heard.close(), { once: true });
    },
  };
}
