/** Starts the composing thread on demand, and ends it when idle. */
import { startThread, type Thread } from '../../../pipeline/engine/threads.ts';
import type { Composed, Wanted } from './compose-audience.ts';

const IDLE_MS = 60_000;

export interface Composer {
  /** Concurrent calls share the thread. Rejects soon after the signal. */
  compose(wanted: Wanted, onProgress: (progress: number) => void, signal: AbortSignal): Promise<Composed>;
  close(): Promise<void>;
}

export function createComposer({ onFailure }: { onFailure?(): void } = {}): Composer {
  // Beside this file once both are compiled.
  const module = new URL('./composition-thread.cjs', import.meta.url);
  let thread: Thread | undefined;
  let idle: NodeJS.Timeout | undefined;
  let composing = 0;

  /** A failed thread rejects its callers; the next call starts another. */
  function start(): Thread {
    const started = startThread(module, {}, () => {
      onFailure?.();
      if (thread === started) thread = undefined;
      void started.terminate();
    });
    return started;
  }

  async function close(): Promise<void> {
    clearTimeout(idle);
    const ending = thread;
    thread = undefined;
    await ending?.terminate();
  }

  return {
    close,
    async compose(wanted, onProgress, signal) {
      signal.throwIfAborted();
      clearTimeout(idle);
      thread ??= start();
      const cancel = () => void thread?.ask('cancel', wanted.token).catch(() => {});
      signal.addEventListener('abort', cancel);
      composing++;
      try {
        return await thread.ask<Composed>('compose', wanted, onProgress);
      } finally {
        signal.removeEventListener('abort', cancel);
        composing--;
        if (composing === 0) idle = setTimeout(() => void close(), IDLE_MS).unref();
      }
    },
  };
}
