/**
 * A hint to the other threads of this process that MongoDB may have changed. Hints may be lost or spurious: listeners poll anyway,
 * because other processes send none.
 */
import { BroadcastChannel } from 'node:worker_threads';

export type News = ReturnType<typeof createNews>;

const CHANNEL = 'headrace-news';

export function createNews() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.unref();

  return {
    tell: (): void => channel.postMessage(null),

    /** Listens until the signal is aborted. */
    listen(onNews: () => void, signal: AbortSignal): void {
      if (signal.aborted) return;
      // Not the sending channel: a channel does not receive its own messages.
      const heard = new BroadcastChannel(CHANNEL);
      heard.unref();
      heard.onmessage = onNews;
      signal.addEventListener('abort', () => heard.close(), { once: true });
    },
  };
}
