/** Limits how long a caller waits. The work itself continues. */
export interface Deadline {
  limit<T>(work: Promise<T>): Promise<T>;
  passed(): boolean;
  clear(): void;
}

export function createDeadline(ms: number): Deadline {
  const end = performance.now() + ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${Math.round(ms)} ms`)), ms);
  });
  late.catch(() => {});
  return {
    limit: (work) => Promise.race([work, late]),
    passed: () => performance.now() >= end,
    clear: () => clearTimeout(timer),
  };
}

export async function withDeadline<T>(ms: number, work: Promise<T>): Promise<T> {
  const deadline = createDeadline(ms);
  return deadline.limit(work).finally(deadline.clear);
}

/** Rejects once the signal is aborted. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** An AbortController that follows a signal. Cheaper than AbortSignal.any: it costs one listener. */
export function linkedAbort(signal: AbortSignal | undefined): {
  controller: AbortController;
  /** Call it when the work is done. */
  unlink(): void;
} {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return { controller, unlink: () => signal?.removeEventListener('abort', abort) };
}
