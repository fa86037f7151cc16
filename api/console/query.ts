/** Reads, keeps the data during the next read, and retries transient errors. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../client/problem.ts';

export interface Query<T> {
  data: T | undefined;
  /** The error of the last read; `data` is from an earlier one. */
  problem: ApiProblem | undefined;
  /** `data` belongs to the previous key. */
  isStale: boolean;
  /** Reads at once. */
  reload: () => void;
  /** Reads soon; coalesces many changes into one read. */
  refresh: () => void;
}

interface Options<T> {
  /** When to read again, in ms; null: on demand. */
  again?: (data: T) => number | null;
  /** Min time between reads triggered by changes. */
  apartMs?: number;
  /** No automatic retry: it would repeat expensive work. */
  retryByHand?: boolean;
  /** Keep showing the data of the previous key until the new one arrives. */
  keep?: boolean;
}

const RETRY_MS = 2_000;
export const asProblem = (error: unknown): ApiProblem =>
  error instanceof ApiProblem ? error : new ApiProblem(-1, 'The page failed', String(error));
export const isTransient = ({ status }: ApiProblem) => status === 0 || status === 429 || status >= 500;

/** A `key` of null reads nothing; a new key drops the data. */
export function useQuery<T>(
  key: string | null,
  readIt: (signal: AbortSignal) => Promise<T>,
  { again, apartMs = 0, retryByHand = false, keep = false }: Options<T> = {},
): Query<T> {
  const [state, setState] = useState<{ key: string | null; data?: T; problem?: ApiProblem }>({ key });
  const latest = useRef({ readIt, again });
  latest.current = { readIt, again };
  const ask = useRef<(apartMs: number) => void>(() => {});

  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    let isAskedAgain = false;
    let startedAt = Number.NEGATIVE_INFINITY;

    const after = (ms: number | null) => {
      clearTimeout(timer);
      if (ms !== null) timer = setTimeout(run, ms);
    };

    async function run(): Promise<void> {
      isReading = true;
      isAskedAgain = false;
      startedAt = performance.now();
      let wait: number | null = null;
      try {
        const data = await latest.current.readIt(abort.signal);
        if (abort.signal.aborted) return;
        setState({ key, data });
        wait = latest.current.again?.(data) ?? null;
      } catch (error) {
        if (abort.signal.aborted) return;
        const problem = asProblem(error);
        setState((before) => {
          const data = before.key === key ? before.data : undefined;
          // The banner reports a lost connection; keep the data.
          return data && problem.isUnreachable ? before : { key, data, problem };
        });
        if (problem.isUnreachable || (isTransient(problem) && !retryByHand)) wait = RETRY_MS;
      }
      isReading = false;
      after(isAskedAgain ? Math.min(apartMs, wait ?? apartMs) : wait);
    }

    ask.current = (apart) => {
      if (isReading) isAskedAgain = true;
      else after(Math.max(0, startedAt + apart - performance.now()));
    };
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      ask.current = () => {};
    };
  }, [key, apartMs, retryByHand]);

  const reload = useCallback(() => ask.current(0), []);
  const refresh = useCallback(() => ask.current(apartMs), [apartMs]);
  const isCurrent = state.key === key;
  return {
    data: isCurrent || keep ? state.data : undefined,
    problem: isCurrent ? state.problem : undefined,
    isStale: !isCurrent,
    reload,
    refresh,
  };
}
