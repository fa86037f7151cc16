/**
 * split: streams one object, unpacks it where asked, and sends its rows on in batches. The cut depends on the bytes alone, so a
 * file that is split again gives the same batches; those that are validated already are not sent again.
 */

import { encode } from '../../schemas/codec.ts';
import { fileFailureCodes } from '../../schemas/codes.ts';
import type { FileFailure, JobDocument } from '../../schemas/documents.ts';
import type { ListedFile } from '../../schemas/topics.ts';
import { type Cut, createRowCutter } from '../formats/cut-rows.ts';
import { FormatFailure, gunzip } from '../formats/gunzip.ts';
import type { Publisher } from '../kafka/publish.ts';
import type { Stage } from '../kafka/stage.ts';
import { faultPoint } from '../runtime/fault-points.ts';
import type { Logger } from '../runtime/log.ts';
import type { Retry } from '../runtime/retry.ts';
import { whileWanted } from '../runtime/while-wanted.ts';
import { type ObjectStore, StoreFailure } from '../sources/object-store.ts';
import { type FileStore, isUndecided } from '../stores/files.ts';
import type { JobContexts } from '../stores/job-contexts.ts';
import type { LedgerStore, ResumePoint } from '../stores/ledger.ts';

/** Batches that may be on their way to Kafka while the next one is cut. */
const IN_FLIGHT = 3;

export interface SplitDependencies {
  log: Logger;
  retry: Retry;
  publisher: Publisher;
  contexts: JobContexts;
  ledger: LedgerStore;
  files: FileStore;
  /** The storage that holds a job's files, opened with the credentials that the job has. */
  sourceOf(job: JobDocument): Promise<{ store: ObjectStore; bucket: string }>;
  rowPartitions: number;
  gzipRatio: number;
}

export function createSplitFiles(deps: SplitDependencies): Stage {
  const { retry, publisher, contexts, ledger, files } = deps;

  /** False once nobody needs the rest of the file: the job ended, the audience was cleared, the file has failed. */
  async function wanted(file: ListedFile): Promise<boolean> {
    const context = await contexts.get(file.job, file.attempt);
    if (!context?.wanted || !context.job.listing) return false;
    // One that is not there is not seen yet, by a member that has just become primary.
    const document = await files.get(context.job.listing, file.file);
    return document === null || isUndecided(document, file.attempt);
  }

  const messageOf = (file: ListedFile, cut: Cut) => ({
    partition: (file.job + file.file + cut.batch) % deps.rowPartitions,
    key: `${file.job}.${file.file}.${cut.batch}`,
    value: encodeBatch(file, cut),
  });

  async function* bytesOf(
    file: ListedFile,
    job: JobDocument,
    from: number,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { store, bucket } = await deps.sourceOf(job);
    const { etag, size } = file;
    yield* store.open(bucket, file.path, { etag, size, from, signal });
  }

  async function split(
    file: ListedFile,
    job: JobDocument,
    resume: ResumePoint | null,
    signal: AbortSignal,
  ): Promise<void> {
    // gzip cannot be entered in the middle: it is read again from the start, and what was validated is not sent again.
    const from = file.compressed ? null : resume;
    const cutter = createRowCutter({ batchBytes: file.batch_bytes, ...(from ? { resume: from } : {}) });
    const sending = new Set<Promise<void>>();
    let failed: unknown;

    const send = async (cut: Cut) => {
      if (resume && cut.batch < resume.batch) return;
      const message = messageOf(file, cut);
      if (faultPoint('split:before-send') === 'skip') return;
      const sent = retry('send a row batch', () => publisher.send('rows', [message]), signal).then(
        () => void faultPoint('split:after-send'),
        (error) => {
          failed ??= error;
        },
      );
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
      if (sending.size >= IN_FLIGHT) await Promise.race(sending);
      if (failed) throw failed;
    };

    try {
      const raw = bytesOf(file, job, from?.start ?? 0, signal);
      for await (const chunk of file.compressed ? gunzip(raw, { maxRatio: deps.gzipRatio }) : raw) {
        signal.throwIfAborted();
        for (const cut of cutter.push(chunk)) await send(cut);
      }
      for (const cut of cutter.finish()) await send(cut);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) throw error;
      for (const cut of cutter.fail(failure)) await send(cut);
    }
    await Promise.all(sending);
    if (failed) throw failed;
  }

  return {
    name: 'split',
    input: 'files',
    weigh: ({ name, value }) => (name === 'ListedFile' ? value.size : 0),
    async handle({ message, signal }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const context = await retry('look up the job', () => contexts.get(file.job, file.attempt), signal);
      if (!context?.wanted) return;
      const resume = await retry('find where to go on', () => ledger.resumePoint(file), signal);
      if (resume === 'complete') return;
      const isWanted = () => wanted(file);
      await retry(
        'split the file',
        () => whileWanted(signal, isWanted, (each) => split(file, context.job, resume, each)),
        signal,
      );
      deps.log.debug({ job: file.job, file: file.file, path: file.path }, 'file split');
    },
    /** Fails the file behind the batches that are validated. Should another come first, the file is dispatched again and we with it. */
    async giveUp({ message, signal }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const resume = await retry('find where to go on', () => ledger.resumePoint(file), signal);
      if (resume === 'complete') return;
      const cutter = createRowCutter({ batchBytes: file.batch_bytes, ...(resume ? { resume } : {}) });
      const failure: FileFailure = { code: 'internal_error', message: fileFailureCodes.internal_error };
      for (const cut of cutter.fail(failure))
        await retry('send a row batch', () => publisher.send('rows', [messageOf(file, cut)]), signal);
    },
  };
}

function failureOf(error: unknown): FileFailure | null {
  if (error instanceof FormatFailure) return { code: error.code, message: error.message };
  if (!(error instanceof StoreFailure)) return null;
  const { code, message } = error;
  const isFiles = code === 'missing' || code === 'changed' || code === 'storage_unavailable';
  return { code: isFiles ? code : 'access_denied', message };
}

function encodeBatch(file: ListedFile, cut: Cut): Buffer {
  return encode('RowBatch', {
    job: file.job,
    file: file.file,
    batch: cut.batch,
    last: cut.last,
    partner: file.partner,
    layout: file.layout,
    path: file.path,
    start: cut.start,
    end: cut.end,
    first_line: cut.firstLine,
    lines: cut.lines,
    delimiter: cut.delimiter,
    rows: cut.bytes,
    failure: cut.failure
      ? { code: cut.failure.code, message: cut.failure.message, line: cut.failure.line ?? null }
      : null,
    attempt: file.attempt,
  });
}
