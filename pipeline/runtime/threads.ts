/** Worker threads with request and response messages. A thread that fails, or ends unexpectedly, is reported once. */
import { type MessagePort, Worker } from 'node:worker_threads';

interface Question {
  id: number;
  ask: string;
}
interface Answer {
  id: number;
  answer?: unknown;
  error?: string;
}

export interface Thread {
  ask<T>(question: string): Promise<T>;
  terminate(): Promise<void>;
}

export function startThread(module: URL, data: object, onFailure: (error: Error) => void): Thread {
  const worker = new Worker(module, {
    workerData: data,
    execArgv: [...process.execArgv, '--enable-source-maps'],
    // Most data is in buffers outside the heap: a large young generation would only take memory.
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
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
  worker.on('message', ({ id, answer, error }: Answer) => {
    // 0 is not a response: the thread reports a fatal error.
    if (id === 0) return end(new Error(error));
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(error));
  });

  return {
    ask: <T>(question: string) =>
      new Promise<T>((resolve, reject) => {
        if (ended) return reject(new Error('the thread has ended'));
        const id = ++last;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
        worker.postMessage({ id, ask: question } satisfies Question);
      }),
    async terminate() {
      ended = true;
      await worker.terminate();
    },
  };
}

/** In the thread: responds to requests; the returned function reports a fatal error. */
export function answerQuestions(
  port: MessagePort,
  answers: Record<string, () => Promise<unknown>>,
): (error: unknown) => void {
  const tell = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));
  port.on('message', async ({ id, ask }: Question) => {
    try {
      port.postMessage({ id, answer: await answers[ask]!() } satisfies Answer);
    } catch (error) {
      port.postMessage({ id, error: tell(error) } satisfies Answer);
    }
  });
  return (error) => port.postMessage({ id: 0, error: tell(error) } satisfies Answer);
}
