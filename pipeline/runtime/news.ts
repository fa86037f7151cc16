/**
 * A hint between the threads of a process that something may have changed in MongoDB. It may be missed or spurious: listeners poll anyway,
 * because other processes send no hints.
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
      // A channel of its own: a channel does not receive its own messages.
      const heard = new BroadcastChannel(CHANNEL);
      heard.unref();
      heard.onmessage = onNews;
      signal.addEventListener('abort', () => heard.close(), { once: true });
    },
  };
}
