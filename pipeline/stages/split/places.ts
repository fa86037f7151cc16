/**
 * The places in which a thread reads files: a large file takes one, a small one a part of it. A place is held until the file is read, with
 * storage that does not answer for minutes. So a partner has places of its own: the first at once, further ones while few are in use. Its
 * older jobs go first, and what a later job reads takes no place from them. Only if very many partners read at the same time, they
 * wait for a place, in turn. Small files have places apart: they never wait for large ones of others.
 */
import { createFairShare } from '../../runtime/fair-share.ts';

interface File {
  partner: string;
  job: number;
  size: number;
}

export interface Places {
  /** Resolves with what the work gives. Rejects if the signal is aborted before there is a place. */
  use<T>(file: File, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

interface Limits {
  /** Places of one partner. */
  own: number;
  /** Places in use up to which a partner gets a further one. */
  shared: number;
  /** Places in use at all. A large file that is read holds about three batches. */
  total: number;
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

interface NextFile {
  key: string;
  cost: number;
  of: OpenJob;
  file: Waiting;
  /** Nothing of the partner is read, or only files of later jobs. */
  isFirst: boolean;
}

export function createPlaces({ own, shared, total }: Limits): Places {
  /** By partner: jobs with files that wait or are read, the oldest first. */
  const partners = new Map<string, OpenJob[]>();
  const turns = createFairShare();
  const used = { small: 0, large: 0 };
  const kindOf = (parts: number) => (parts < PARTS ? 'small' : 'large');

  function openJob(partner: string, job: number): OpenJob {
    const jobs = partners.get(partner) ?? [];
    partners.set(partner, jobs);
    const known = jobs.find((one) => one.job === job);
    if (known) return known;
    const opened = { job, used: 0, waiting: new Set<Waiting>() };
    jobs.push(opened);
    jobs.sort((a, b) => a.job - b.job);
    return opened;
  }

  /** The next file for which the partner has a place of its own. */
  function nextOf(partner: string, jobs: OpenJob[]): NextFile[] {
    let ofPartner = 0;
    for (const of of jobs) {
      ofPartner += of.used;
      const [file] = of.waiting;
      if (!file || (ofPartner > 0 && ofPartner + file.parts > own * PARTS)) continue;
      return [{ key: partner, cost: file.parts, of, file, isFirst: ofPartner === 0 }];
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
      next.of.waiting.delete(next.file);
      next.of.used += next.cost;
      used[kindOf(next.cost)] += next.cost;
      next.file.go();
    }
  }

  function forgetIfIdle(partner: string): void {
    const open = partners.get(partner)?.filter((one) => one.used > 0 || one.waiting.size > 0) ?? [];
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
