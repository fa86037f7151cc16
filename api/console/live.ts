/**
 * Changed records, as server-sent events. The browser resumes a broken stream with Last-Event-ID. If it cannot (an error response, a
 * page that was in the background), the page gets a `resync` and reads everything again.
 */

import { useEffect, useRef } from 'preact/hooks';
import { ApiProblem } from '../client/problem.ts';
import { endSession, findSession } from './session.ts';
import { createStore } from './store.ts';

interface LiveEvent {
  type: 'import' | 'audience' | 'load' | 'resync';
  // biome-ignore lint/suspicious/noExplicitAny: the record that the type names
  data: any;
}

/** false: shown as a banner. */
export const connected = createStore(true);

const types = ['import', 'audience', 'load', 'resync'] as const;
/** Shorter interruptions are not reported. */
const GRACE_MS = 1_500;
const REOPEN_MS = 1_000;

function openLive(path: string, onEvent: (event: LiveEvent) => void): () => void {
  let source: EventSource | undefined;
  /** Something may have changed between the first read and the start of the stream. */
  let isBehind = true;
  let grace: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;

  function restored(): void {
    clearTimeout(grace);
    grace = undefined;
    connected.set(true);
    if (isBehind) onEvent({ type: 'resync', data: {} });
    isBehind = false;
  }

  function lost(): void {
    isBehind = true;
    grace ??= setTimeout(() => connected.set(false), GRACE_MS);
    if (source?.readyState !== EventSource.CLOSED) return;
    clearTimeout(reopening);
    reopening = setTimeout(reopen, REOPEN_MS);
  }

  /** After a refused stream: the session has ended, or the service is not ready. */
  async function reopen(): Promise<void> {
    try {
      if (!(await findSession())) return endSession();
      open();
    } catch (error) {
      if (!(error instanceof ApiProblem)) throw error;
      lost();
    }
  }

  function open(): void {
    source?.close();
    source = new EventSource(path);
    source.onopen = restored;
    source.onerror = lost;
    // A page that shows a deleted audience must reload it.
    source.addEventListener('deleted', () => onEvent({ type: 'resync', data: {} }));
    for (const type of types)
      source.addEventListener(type, (event) =>
        onEvent({ type, data: JSON.parse((event as MessageEvent).data) }),
      );
  }

  function close(): void {
    source?.close();
    source = undefined;
    clearTimeout(grace);
    clearTimeout(reopening);
    grace = undefined;
  }

  /** Browsers limit connections per server, so a hidden tab closes its stream. */
  function followVisibility(): void {
    if (document.visibilityState === 'hidden') close();
    else {
      isBehind = true;
      open();
    }
  }

  document.addEventListener('visibilitychange', followVisibility);
  open();
  return () => {
    document.removeEventListener('visibilitychange', followVisibility);
    close();
    connected.set(true);
  };
}

export function useLive(path: string | null, onEvent: (event: LiveEvent) => void): void {
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(() => (path ? openLive(path, (event) => latest.current(event)) : undefined), [path]);
}
