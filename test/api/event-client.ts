/** Reads server-sent events like a browser, and records them. */
import { waitFor } from '../support/wait-for.ts';

interface ReceivedEvent {
  id: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a record that a test is about to look into
  data: any;
}

export async function openEvents(url: string, headers: Record<string, string>) {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events: ReceivedEvent[] = [];
  let lastId = headers['last-event-id'] ?? '';
  let comments = 0;
  let ended = false;

  function take(block: string): void {
    const lines = block
      .split('\n')
      .map((line) => /^([^:]*):? ?(.*)$/.exec(line)!.slice(1) as [string, string]);
    const fields = Object.fromEntries(lines);
    if ('' in fields) comments++;
    if (fields.id !== undefined) lastId = fields.id;
    if (fields.data === undefined) return;
    events.push({ id: lastId, event: fields.event ?? 'message', data: JSON.parse(fields.data) });
  }

  async function read(): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) take(block);
    }
  }
  const closed = response.ok
    ? read()
        .catch(() => {})
        .finally(() => {
          ended = true;
        })
    : Promise.resolve();

  return {
    status: response.status,
    headers: response.headers,
    problem: () => response.json() as Promise<{ code: string }>,
    events,
    get lastId() {
      return lastId;
    },
    get comments() {
      return comments;
    },
    /** Either side has closed the stream. */
    get ended() {
      return ended;
    },
    closed,
    /** The first matching event, received or yet to come. */
    until: (what: string, isWanted: (event: ReceivedEvent) => boolean) =>
      waitFor(() => events.find(isWanted), { what, everyMs: 10 }),
    async close() {
      leaving.abort();
      await closed;
    },
  };
}

/** Repeats a request that was refused. */
export const untilOpen = (ask: () => ReturnType<typeof openEvents>) =>
  waitFor(
    async () => {
      const stream = await ask();
      return stream.status === 200 ? stream : undefined;
    },
    { what: 'an event stream' },
  );
