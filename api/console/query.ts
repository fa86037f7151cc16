/** Reads something, keeps it while it is read again, and repeats by itself what failed in passing. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from './api-client.ts';

export interface Query<T> {
  data: T | undefined;
  /** The last reading failed; `data` is what was read before. */
  problem: ApiProblem | undefined;
  /** `data` is of another key. */
  isStale: boolean;
  reload: () => void;
}

interface Options<T> {
  /** When to read again, in ms; null: when somebody asks. */
  again?: (data: T) => number | null;
  /** Readings that were asked for are at least this far apart. */
  apartMs?: number;
  /** Shows what was read for the key before until the new one is there: a list does not vanish at each keystroke. */
  keep?: boolean;
}

const RETRY_MS = 2_000;

/** A `key` of null reads nothing; another key forgets what was read. */
export function useQuery<T>(
  key: string | null,
  readIt: (signal: AbortSignal) => Promise<T>,
  { again, apartMs = 0, keep = false }: Options<T> = {},
): Query<T> {
  const [state, setState] = useState<{ key: string | null; data?: T; problem?: ApiProblem }>({ key });
  const latest = useRef({ readIt, again });
  latest.current = { readIt, again };
  const ask = useRef<() => void>(() => {});

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
          error instanceof ApiProblem ? error : new ApiProblem(0, 'The page failed', String(error));
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, problem }));
        if (problem.isUnreachable) wait = RETRY_MS;
      }
      isReading = false;
      after(isAskedAgain ? apartMs : wait);
    }

    ask.current = () => {
      if (isReading) isAskedAgain = true;
      else after(Math.max(0, startedAt + apartMs - performance.now()));
    };
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      ask.current = () => {};
    };
  }, [key, apartMs]);

  const reload = useCallback(() => ask.current(), []);
  const isCurrent = state.key === key;
  return {
    data: isCurrent || keep ? state.data : undefined,
    problem: isCurrent ? state.problem : undefined,
    isStale: !isCurrent,
    reload,
  };
}
