/**
 * Limits the files that a thread reads at once. A large file takes a place, a small one a fraction. A place is held until the file is read,
 * for minutes if the storage does not answer, so each partner gets its own: the first immediately, more while few are in use. A partner's
 * older jobs go first and never wait for places of its later jobs. Partners wait for each other, in turn, only when all places are taken.
 * Small files have separate places, so that they never wait for other partners' large ones.
 */
import { createFairShare } from '../../runtime/fair-share.ts';

interface File {
  partner: string;
  job: number;
  size: number;
}

export interface Places {
  /** Resolves with the result of the work. Rejects if the signal is aborted before a place is free. */
  use<T>(file: File, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Limits {
  /** Places per partner. */
  own: number;
  /** A partner gets more than its first place only while fewer than this are in use. */
  shared: number;
  /** All places. A large file being read holds about three batches in memory. */
  total: number;
}

/** Parts of a place. */
const PARTS = 16;
/** Reading a smaller file is mostly waiting. */
const LARGE_BYTES = 1_000_000;

const partsOf = (size: number) => Math.min(PARTS, Math.max(1, Math.ceil((size / LARGE_BYTES) * PARTS)));

interface Waiting {
  parts: number;
  go(): void;
}

interface OpenJob {
  job: number;
  /** Parts of places that its files occupy. */
  used: number;
  waiting: Set<Waiting>;
}

interface NextFile {
  key: string;
  cost: number;
  open: OpenJob;
  file: Waiting;
  /** The partner reads nothing, or only files of later jobs. */
  isFirst: boolean;
}

export function createPlaces({ own, shared, total }: Limits): Places {
  /** By partner: jobs with waiting or reading files, oldest first. */
  const partners = new Map<string, OpenJob[]>();
  const turns = createFairShare();
  const used = { small: 0, large: 0 };
  const kindOf = (parts: number) => (parts < PARTS ? 'small' : 'large');

  function openJob(partner: string, job: number): OpenJob {
    const jobs = partners.get(partner) ?? [];
    partners.set(partner, jobs);
    const known = jobs.find((open) => open.job === job);
    if (known) return known;
    const opened = { job, used: 0, waiting: new Set<Waiting>() };
    jobs.push(opened);
    jobs.sort((a, b) => a.job - b.job);
    return opened;
  }

  /** The partner's next file that fits its own places. */
  function nextOf(partner: string, jobs: OpenJob[]): NextFile[] {
    let ofPartner = 0;
    for (const open of jobs) {
      ofPartner += open.used;
      const [file] = open.waiting;
      if (!file || (ofPartner > 0 && ofPartner + file.parts > own * PARTS)) continue;
      return [{ key: partner, cost: file.parts, open, file, isFirst: ofPartner === 0 }];
    }
    return [];
  }

  const fits = ({ cost }: NextFile, places: number) => used[kindOf(cost)] + cost <= places * PARTS;

  function admit(): void {
    for (;;) {
      const files = [...partners].flatMap(([partner, jobs]) => nextOf(partner, jobs));
      const next =
        turns.next(files, (file) => file.isFirst && fits(file, total)) ??
        turns.next(files, (file) => fits(file, shared));
      if (!next) return;
      turns.serve(next);
      next.open.waiting.delete(next.file);
      next.open.used += next.cost;
      used[kindOf(next.cost)] += next.cost;
      next.file.go();
    }
  }

  function forgetIfIdle(partner: string): void {
    const open = partners.get(partner)?.filter(({ used, waiting }) => used > 0 || waiting.size > 0) ?? [];
    if (open.length > 0) partners.set(partner, open);
    else partners.delete(partner);
  }

  return {
    async use({ partner, job, size }, signal, work) {
      signal.throwIfAborted();
      const parts = partsOf(size);
      const open = openJob(partner, job);
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          open.waiting.delete(waiting);
          forgetIfIdle(partner);
          admit();
          reject(signal.reason);
        };
        const go = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const waiting: Waiting = { parts, go };
        open.waiting.add(waiting);
        signal.addEventListener('abort', leave, { once: true });
        admit();
      });
      try {
        return await work();
      } finally {
        open.used -= parts;
        used[kindOf(parts)] -= parts;
        forgetIfIdle(partner);
        admit();
      }
    },
  };
}
