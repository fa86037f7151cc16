/**
 * The places in which a thread reads files: a large file takes one, a small one a part of it. Files of older jobs go first, and what a
 * later job reads takes no place from them: with storage that does not answer, it may hold its own for minutes.
 */
export interface Places {
  /** Resolves with what the work gives. Rejects if the signal is aborted before there is a place. */
  use<T>(file: { job: number; size: number }, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Parts of a place. */
const PARTS = 64;
/** What a file costs to read is mostly waiting, until it is large. */
const LARGE_BYTES = 1_000_000;

const partsOf = (size: number) => Math.min(PARTS, Math.max(1, Math.ceil((size / LARGE_BYTES) * PARTS)));

interface Waiting {
  parts: number;
  go(): void;
}

interface OpenJob {
  job: number;
  /** Parts of places that its files have. */
  used: number;
  waiting: Set<Waiting>;
}

export function createPlaces(count: number): Places {
  /** Jobs with files that wait or are read, the oldest first. */
  let jobs: OpenJob[] = [];

  function openJob(job: number): OpenJob {
    const known = jobs.find((one) => one.job === job);
    if (known) return known;
    const opened = { job, used: 0, waiting: new Set<Waiting>() };
    jobs.push(opened);
    jobs.sort((a, b) => a.job - b.job);
    return opened;
  }

  function admit(): void {
    let used = 0;
    for (const one of jobs) {
      used += one.used;
      for (const next of one.waiting) {
        if (used > 0 && used + next.parts > count * PARTS) break;
        one.waiting.delete(next);
        one.used += next.parts;
        used += next.parts;
        next.go();
      }
    }
    jobs = jobs.filter((one) => one.used > 0 || one.waiting.size > 0);
  }

  return {
    async use({ job, size }, signal, work) {
      signal.throwIfAborted();
      const parts = partsOf(size);
      const own = openJob(job);
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          own.waiting.delete(waiting);
          reject(signal.reason);
        };
        const go = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const waiting: Waiting = { parts, go };
        own.waiting.add(waiting);
        signal.addEventListener('abort', leave, { once: true });
        admit();
      });
      try {
        return await work();
      } finally {
        own.used -= parts;
        admit();
      }
    },
  };
}
