/** Request and response messages to worker threads. A thread that fails or exits unexpectedly is reported once. */
import { type MessagePort, Worker } from 'node:worker_threads';

interface Question {
  id: number;
  ask: string;
  about?: unknown;
}
interface Answer {
  id: number;
  /** Set in a progress report, which precedes the answer. */
  progress?: number;
  answer?: unknown;
  error?: string;
}

interface Asked {
  resolve(value: unknown): void;
  reject(error: Error): void;
  onProgress?: ((progress: number) => void) | undefined;
}

export interface Thread {
  ask<T>(question: string, about?: unknown, onProgress?: (progress: number) => void): Promise<T>;
  hasEnded(): boolean;
  terminate(): Promise<void>;
}

export function startThread(module: URL, data: object, onFailure: (error: Error) => void): Thread {
  const worker = new Worker(module, { workerData: data, execArgv: process.execArgv });
  const waiting = new Map<number, Asked>();
  let last = 0;
  let ended = false;

  function end(error: Error): void {
    if (ended) return;
    ended = true;
    for (const { reject } of waiting.values()) reject(error);
    onFailure(error);
  }
  worker.on('error', (error) => end(error as Error));
  worker.on('exit', (code) => end(new Error(`a thread exited with code ${code}`)));
  worker.on('message', ({ id, answer, error, progress }: Answer) => {
    // Id 0: the thread reports a fatal error.
    if (id === 0) return end(new Error(error));
    const asked = waiting.get(id);
    if (progress !== undefined) return asked?.onProgress?.(progress);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(error));
  });

  return {
    ask: <T>(question: string, about?: unknown, onProgress?: (progress: number) => void) =>
      new Promise<T>((resolve, reject) => {
        if (ended) return reject(new Error('the thread has ended'));
        const id = ++last;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, onProgress });
        worker.postMessage({ id, ask: question, about } satisfies Question);
      }),
    hasEnded: () => ended,
    async terminate() {
      ended = true;
      await worker.terminate();
    },
  };
}

/** The thread's side: responds to requests. The returned function reports a fatal error. */
export function answerQuestions(
  port: MessagePort,
  answers: Record<string, (about: unknown, onProgress: (progress: number) => void) => Promise<unknown>>,
): (error: unknown) => void {
  const tell = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));
  port.on('message', async ({ id, ask, about }: Question) => {
    const onProgress = (progress: number) => port.postMessage({ id, progress } satisfies Answer);
    try {
      port.postMessage({ id, answer: await answers[ask]!(about, onProgress) } satisfies Answer);
    } catch (error) {
      port.postMessage({ id, error: tell(error) } satisfies Answer);
    }
  });
  return (error) => port.postMessage({ id: 0, error: tell(error) } satisfies Answer);
}
