/**
 * A hint to the other threads of this process that MongoDB may have changed. Hints may be lost or spurious: listeners poll anyway,
 * because other processes send none.
 */
import { BroadcastChannel } from 'node:worker_threads';

export type Notifier = ReturnType<typeof createNotifier>;

const CHANNEL = 'headrace-notify';

export function createNotifier() {
  const channel = new BroadcastChannel(CHANNEL);
  channel.unref();

  return {
    notify: (): void => channel.postMessage(null),

    /** Subscribes until the signal is aborted. */
    subscribe(onNotify: () => void, signal: AbortSignal): void {
      if (signal.aborted) return;
      // Not the sending channel: a channel does not receive its own messages.
      const received = new BroadcastChannel(CHANNEL);
      received.unref();
      received.onmessage = onNotify;
      signal.addEventListener('abort', () => received.close(), { once: true });
    },
  };
}
