/** Reads something, keeps it while it is read again, and repeats by itself what failed in passing. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../client/problem.ts';

export interface Query<T> {
  data: T | undefined;
  /** The last reading failed; `data` is what was read before. */
  problem: ApiProblem | undefined;
  /** `data` is of another key. */
  isStale: boolean;
  /** Somebody asks: reads at once. */
  reload: () => void;
  /** Something has changed: reads soon, and once for many changes. */
  refresh: () => void;
}

interface Options<T> {
  /** When to read again, in ms; null: when somebody asks. */
  again?: (data: T) => number | null;
  /** Readings because of changes are at least this far apart. */
  apartMs?: number;
  /** Asking again would repeat the work that has failed, so a reader has to want it. */
  retryByHand?: boolean;
  /** Shows what was read for the key before until the new one is there: a list does not vanish at each keystroke. */
  keep?: boolean;
}

const RETRY_MS = 2_000;
const isTransient = ({ status }: ApiProblem) => status === 0 || status === 429 || status >= 500;

/** A `key` of null reads nothing; another key forgets what was read. */
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
        const problem =
          error instanceof ApiProblem ? error : new ApiProblem(-1, 'The page failed', String(error));
        setState((before) => {
          const data = before.key === key ? before.data : undefined;
          // A banner says that the connection is lost; what is shown stays.
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
