/**
 * Publishes the files of jobs to split, a window per job. Files without progress are published again, because a message may have been lost;
 * split then sends only what the ledger lacks.
 */

import { type FileDocument, type JobDocument, JobStatus } from '../../../../schemas/job-documents.ts';
import type { Publisher } from '../../../kafka/publish.ts';
import { inGroups, within } from '../../../runtime/in-groups.ts';
import type { Logger } from '../../../runtime/log.ts';
import { jobHeaders } from '../../../runtime/trace-job.ts';
import type { FileStore } from '../../../stores/files.ts';
import { encode } from '../../../wire/codec.ts';
import type { DispatchStep } from '../steps.ts';
import { placesOf, SMALL_FILES_A_PLACE, takeThatFit } from './file-window.ts';
import type { LoadingJob } from './loading-job.ts';
import { noBatches } from './tally-files.ts';

export interface PublishDependencies {
  log: Logger;
  publisher: Publisher;
  files: FileStore;
  /** Maximum files of a job in flight; more if they are small (file-window.ts). */
  fileWindow: number;
  filePartitions: number;
  /** Files are published again after this long without progress. */
  stallMs: number;
}

const MAX_PATIENCE_MS = 15 * 60_000;
/** Files read and published in one go; a window may have room for hundreds of thousands. */
const MAX_AT_ONCE = 5_000;

export function createPublishFiles(deps: PublishDependencies, step: DispatchStep) {
  const { files, fileWindow } = deps;

  async function publish(entry: LoadingJob, chosen: FileDocument[]): Promise<void> {
    const messages = chosen.map((file) => ({
      partition: (file.job + file.number) % deps.filePartitions,
      key: `${file.job}.${file.number}`,
      value: encodeFile(entry.job, file),
      ...jobHeaders(entry.job),
    }));
    await step('publish-files', () => deps.publisher.send('files', messages));
    for (const { number, size, compressed, batchBytes } of chosen) {
      const tally = entry.inFlight.get(number)?.tally ?? noBatches();
      entry.inFlight.set(number, { size, compressed, batchBytes, tally });
    }
  }

  function roomOf({ inFlight }: LoadingJob): number {
    let room = fileWindow;
    for (const file of inFlight.values()) room -= placesOf(file);
    return room;
  }

  /** Publishes the next files that fit the window. */
  async function publishNext(entry: LoadingJob, room: number): Promise<void> {
    const listing = entry.job.listing!;
    const limit = Math.min(MAX_AT_ONCE, Math.ceil(room * SMALL_FILES_A_PLACE));
    const found = await step.read('find files to publish', () =>
      files.undecided(listing, entry.attempt, entry.nextFile, limit),
    );
    const next = takeThatFit(found, room);
    if (found.length === 0) {
      entry.nextFile = entry.job.fileCount;
      return;
    }
    const waiting = next.filter(({ status }) => status === JobStatus.pending);
    if (waiting.length > 0) {
      const [first, last] = [waiting[0]!.number, waiting.at(-1)!.number];
      await step('mark-running', () => files.markRunning(listing, first, last));
    }
    await publish(entry, next);
    entry.nextFile = next.at(-1)!.number + 1;
  }

  return {
    async publishFirst(entry: LoadingJob, first: FileDocument[]): Promise<void> {
      await publish(entry, first);
      entry.nextFile = first.at(-1)!.number + 1;
    },

    async publishMore(entry: LoadingJob): Promise<void> {
      let room = roomOf(entry);
      if (room < Math.min(fileWindow, 1 + fileWindow / 4)) return;
      for (; room >= 1 && entry.nextFile < entry.job.fileCount; room = roomOf(entry))
        await publishNext(entry, room);
    },

    async publishStalled(entry: LoadingJob): Promise<void> {
      const { progress, inFlight, job, attempt, batchesSeen: seen } = entry;
      const now = performance.now();
      if (seen !== progress.seen) {
        entry.progress = { seen, at: now, patienceMs: deps.stallMs };
        return;
      }
      if (inFlight.size === 0 || now - progress.at < progress.patienceMs) return;
      // Backoff, so that a slow job is not made slower.
      entry.progress = { seen, at: now, patienceMs: Math.min(MAX_PATIENCE_MS, 2 * progress.patienceMs) };
      deps.log.warn({ job: job._id, files: inFlight.size }, 'no progress: publishing the files again');
      const numbers = [...inFlight.keys()].sort((a, b) => a - b);
      for (const group of inGroups(numbers, within({ count: MAX_AT_ONCE }))) {
        const open = await step.read('find files to publish again', () =>
          files.undecided(job.listing!, attempt, group[0]!, group.length),
        );
        const stalled = open.filter(({ number }) => inFlight.has(number));
        if (stalled.length > 0) await publish(entry, stalled);
      }
    },
  };
}

/** A deletion has no files. */
const layouts = {
  import: 'attributes',
  delete: 'attributes',
  audience: 'audience',
  privacy: 'identifiers',
} as const;

function encodeFile(job: JobDocument, file: FileDocument): Buffer {
  return encode('ListedFile', {
    job: file.job,
    file: file.number,
    partner: job.partner,
    layout: layouts[job.kind],
    path: file.path,
    etag: file.etag,
    size: file.size,
    compressed: file.compressed,
    batch_bytes: file.batchBytes,
    attempt: job.attempt ?? 0,
  });
}
