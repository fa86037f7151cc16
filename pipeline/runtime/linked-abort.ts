/** An AbortController that is aborted with a signal, too. Unlike AbortSignal.any it costs no more than a listener. */
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
