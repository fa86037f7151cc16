/** Decides files whose ledger is complete, in one write for all loading jobs. */

import type { DecidedFile, FileStore } from '../../../stores/files.ts';
import { type KeyHints, withHint } from '../../../stores/key-hints.ts';
import type { DispatchStep } from '../steps.ts';
import { judgeFile } from './judge-file.ts';
import { growthOf, type LoadingJob } from './loading-job.ts';

export interface DecideDependencies {
  files: FileStore;
  keyHints: Pick<KeyHints, 'ofJob'>;
  maxInvalidShare: number;
}

export function createDecideFiles(
  { files, keyHints, maxInvalidShare }: DecideDependencies,
  step: DispatchStep,
) {
  /** Looked up once per job, however many files fail. */
  const hints = new WeakMap<LoadingJob, string | undefined>();

  /** Adds a hint if a file failed because its keys are of the other type. */
  async function explain(entry: LoadingJob, file: DecidedFile): Promise<DecidedFile> {
    if (file.failure?.code !== 'too_many_invalid' || !file.rejected.unknown_key) return file;
    if (!hints.has(entry))
      hints.set(entry, await step.read('look at unknown keys', () => keyHints.ofJob(entry.job)));
    return { ...file, failure: withHint(file.failure, hints.get(entry)) };
  }

  function count(entry: LoadingJob, file: DecidedFile): void {
    const { size, compressed, tally } = entry.inFlight.get(file.number)!;
    entry.inFlight.delete(file.number);
    entry.filesDone++;
    entry.rowsDone += file.rows;
    entry.bytesDone += size;
    entry.grown += file.grown ?? 0;
    if (compressed && !file.failure) {
      entry.unpacked.stored += size;
      entry.unpacked.bytes += tally.bytes;
    }
    entry.decided?.push({ ...file, path: entry.paths.get(file.number)!, slots: tally.slots });
  }

  /** `touched`: files with new ledger entries. Returns the jobs with newly decided files. */
  return async (touched: Map<LoadingJob, Set<number>>): Promise<Set<LoadingJob>> => {
    const decided: { entry: LoadingJob; file: DecidedFile }[] = [];
    for (const [entry, numbers] of touched)
      for (const number of numbers) {
        const inFlight = entry.inFlight.get(number)!;
        const file = judgeFile(number, inFlight.tally, maxInvalidShare);
        const grown = growthOf(inFlight);
        if (file) decided.push({ entry, file: grown > 0 ? { ...file, grown } : file });
      }
    if (decided.length === 0) return new Set();
    for (const decision of decided) decision.file = await explain(decision.entry, decision.file);
    const documents = decided.map(({ entry, file }) => ({
      ...file,
      listing: entry.job.listing!,
      attempt: entry.attempt,
    }));
    await step('decide-files', () => files.decide(documents));
    for (const { entry, file } of decided) count(entry, file);
    return new Set(decided.map(({ entry }) => entry));
  };
}
