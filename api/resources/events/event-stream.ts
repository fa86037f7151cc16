/** An open SSE response. It ends when the caller loses access or stops reading. */
import type { Context } from '../../http/context.ts';
import type { Client, Membership } from './hub.ts';

/** Max delay until an ended session or a revoked key is noticed. */
const RECHECK_MS = 2_000;
/** Bytes. A client further behind is disconnected and can resume. */
const MAX_BACKLOG = 1_000_000;
/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  /** Proxies must not buffer events. */
  'X-Accel-Buffering': 'no',
};

export function createEventStream({ res, state }: Context, heartbeatMs: number) {
  const timers: NodeJS.Timeout[] = [];
  /** Events sent before the response began. */
  let waiting = '';
  let begun = false;
  const isOpen = () => !res.destroyed && !res.writableEnded;

  function write(text: string): void {
    if (!isOpen()) return;
    res.write(text);
    if (res.writableLength > MAX_BACKLOG) res.destroy();
  }

  function end(): void {
    if (begun && isOpen()) res.end();
  }

  async function endIfNotAllowed(): Promise<void> {
    // Keep the stream while MongoDB does not answer: there are no events either.
    if (!(await state.isStillAllowed().catch(() => true))) end();
  }

  const client: Pick<Client, 'send' | 'end'> = {
    send(text) {
      if (begun) write(text);
      else waiting += text;
    },
    end,
  };

  return {
    client,
    isOpen,
    /** Sends the headers and the waiting events. */
    begin({ position }: Membership): void {
      begun = true;
      res.on('error', () => {});
      res.once('close', () => {
        for (const timer of timers) clearTimeout(timer);
      });
      res.writeHead(200, headers);
      write(`retry: 1000\n\n${waiting}id: ${position()}\n\n`);
      timers.push(
        setInterval(() => write(`:\nid: ${position()}\n\n`), heartbeatMs),
        setInterval(() => void endIfNotAllowed(), RECHECK_MS),
      );
      if (state.expiresAt !== undefined)
        timers.push(setTimeout(end, Math.min(MAX_TIMER_MS, state.expiresAt - Date.now())));
    },
  };
}
