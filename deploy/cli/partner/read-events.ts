/** Server-sent events of the API. Resumes broken streams. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, readText } from '../../../api/client/client.ts';
import { ApiProblem } from '../../../api/client/problem.ts';
import { linkedAbort } from '../../../pipeline/runtime/deadline.ts';

export interface ServerEvent {
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the record that the name says
  data: any;
}

/** Three missed heartbeats. */
const MAX_SILENCE_MS = 45_000;
const REOPEN_MS = 1_000;
/** Rides out a restart of the API or a short network failure. */
const MAX_LOST = 30;

/** The fields of a block. */
const fieldsOf = (block: string): Record<string, string> =>
  Object.fromEntries(
    block.split('\n').map((line) => {
      const [name = '', ...value] = line.split(': ');
      return [name, value.join(': ')];
    }),
  );

/** Ends only with an error: an abort or a refusal. */
export async function* readEvents(
  api: ApiClient,
  path: string,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<ServerEvent, never> {
  let lastId = '';

  async function* readStream(): AsyncGenerator<ServerEvent> {
    const { controller, unlink } = linkedAbort(signal);
    const silence = () => controller.abort(new Error('no heartbeat'));
    try {
      const headers: Record<string, string> = lastId === '' ? {} : { 'Last-Event-ID': lastId };
      const request = { signal: controller.signal, maxLost: MAX_LOST, headers };
      const texts = readText(await api.open(path, request));
      onOpen();
      for (let rest = ''; ; ) {
        const timer = setTimeout(silence, MAX_SILENCE_MS);
        const { done, value } = await texts.next().finally(() => clearTimeout(timer));
        if (done) return;
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop()!;
        for (const fields of blocks.map(fieldsOf)) {
          if (fields.data !== undefined)
            yield { name: fields.event ?? 'message', data: JSON.parse(fields.data) };
          // Only after the event was handled, so that an interruption repeats it.
          lastId = fields.id ?? lastId;
        }
      }
    } finally {
      controller.abort();
      unlink();
    }
  }

  for (;;) {
    try {
      yield* readStream();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiProblem) || !error.isLost) throw error;
    }
    await sleep(REOPEN_MS, undefined, { signal });
  }
}
