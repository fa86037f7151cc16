/** Decides files whose batches the ledger has completely, for all loading jobs in one write. */

import type { Step } from '../../runtime/step.ts';
import type { DecidedFile, FileStore } from '../../stores/files.ts';
import type { FileTally, LedgerStore } from '../../stores/ledger.ts';
import { judgeFile } from './judge-file.ts';
import type { LoadingJob } from './loading-job.ts';

export interface DecideDependencies {
  files: FileStore;
  ledger: LedgerStore;
  maxInvalidShare: number;
}

export function createDecideFiles(
  { files, ledger, maxInvalidShare }: DecideDependencies,
  step: Step<'dispatch'>,
  onFailure: (entry: LoadingJob, error: unknown) => void,
) {
  /** A file that cannot be judged is the trouble of its job, and of no other. */
  async function judge(entry: LoadingJob, tally: FileTally) {
    try {
      const file = await step.read('judge a file', () => judgeFile(tally, ledger, maxInvalidShare));
      return file && { entry, file, tally };
    } catch (error) {
      step.signal.throwIfAborted();
      onFailure(entry, error);
      return null;
    }
  }

  function count({ entry, file, tally }: { entry: LoadingJob; file: DecidedFile; tally: FileTally }): void {
    const { size, compressed } = entry.inFlight.get(file.number)!;
    entry.inFlight.delete(file.number);
    entry.filesDone++;
    entry.rowsDone += file.rows;
    entry.bytesDone += size;
    if (compressed && !file.failure) {
      entry.unpacked.stored += size;
      entry.unpacked.bytes += tally.bytes;
    }
    entry.decided?.push({ ...file, path: entry.paths.get(file.number)! });
  }

  /** Gives the jobs of which something was decided. */
  return async (open: { entry: LoadingJob; tally: FileTally }[]): Promise<Set<LoadingJob>> => {
    const judged = await Promise.all(open.map(({ entry, tally }) => judge(entry, tally)));
    const decided = judged.filter((one) => one !== null);
    if (decided.length === 0) return new Set();
    const documents = decided.map(({ entry, file }) => ({
      ...file,
      listing: entry.job.listing!,
      attempt: entry.attempt,
    }));
    await step('decide', () => files.decide(documents));
    for (const one of decided) count(one);
    return new Set(decided.map(({ entry }) => entry));
  };
}
