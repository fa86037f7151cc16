/**
 * split: streams one object, unpacks it where asked, and sends its rows on in batches. The cut depends on the bytes alone, so a
 * file that is split again gives the same batches; those that are validated already are not sent again.
 */

import { type FileFailureCode, fileFailureCodes } from '../../schemas/codes.ts';
import type { FileFailure, JobDocument } from '../../schemas/documents.ts';
import type { ListedFile } from '../../schemas/topics.ts';
import { cutFile, failFile } from '../formats/cut-file.ts';
import type { Cut, ResumePoint } from '../formats/cut-rows.ts';
import type { Publisher } from '../kafka/publish.ts';
import type { Delivery, Stage } from '../kafka/stage.ts';
import type { Logger } from '../runtime/log.ts';
import type { Step } from '../runtime/step.ts';
import { type ObjectStore, StoreFailure } from '../sources/object-store.ts';
import { type FileStore, isUndecided } from '../stores/files.ts';
import type { JobContexts } from '../stores/job-contexts.ts';
import type { LedgerStore } from '../stores/ledger.ts';
import { encode } from '../wire/codec.ts';

/** Batches that may be on their way to Kafka while the next one is cut. */
const IN_FLIGHT = 3;

export interface SplitDependencies {
  log: Logger;
  publisher: Publisher;
  contexts: JobContexts;
  ledger: LedgerStore;
  files: FileStore;
  /** The storage that holds a job's files, opened with the credentials that the job has. */
  sourceOf(job: JobDocument): Promise<{ store: ObjectStore; bucket: string }>;
  rowPartitions: number;
  gzipRatio: number;
  /** Bytes of a file have arrived. */
  onRead?(bytes: number): void;
}

type SplitStep = Step<'split'>;

export function createSplitFiles(deps: SplitDependencies): Stage<'split'> {
  const { publisher, contexts, ledger, files } = deps;

  /** False once nobody needs the rest of the file: the job ended, the audience was cleared, the file has failed. */
  async function wanted(file: ListedFile): Promise<boolean> {
    const context = await contexts.get(file.job, file.attempt);
    if (!context?.wanted || !context.job.listing) return false;
    // One that is not there is not seen yet, by a member that has just become primary.
    const document = await files.get(context.job.listing, file.file);
    return document === null || isUndecided(document, file.attempt);
  }

  const messageOf = (
    { job, file, partner, layout, path, attempt }: ListedFile,
    cut: Cut,
    trace: Delivery['trace'],
  ) => ({
    partition: (job + file + cut.batch) % deps.rowPartitions,
    key: `${job}.${file}.${cut.batch}`,
    value: encode('RowBatch', { job, file, partner, layout, path, attempt, ...cut }),
    ...(trace ? { headers: { traceparent: trace.context } } : {}),
  });

  async function* bytesOf(
    file: ListedFile,
    job: JobDocument,
    from: number,
    { signal }: SplitStep,
  ): AsyncGenerator<Buffer> {
    const { store, bucket } = await deps.sourceOf(job);
    const { etag, size } = file;
    for await (const bytes of store.open(bucket, file.path, { etag, size, from, signal })) {
      deps.onRead?.(bytes.length);
      yield bytes;
    }
  }

  async function split(
    file: ListedFile,
    job: JobDocument,
    resume: ResumePoint | null,
    { step, trace }: Pick<Delivery<'split'>, 'step' | 'trace'>,
  ): Promise<void> {
    const sending = new Set<Promise<void>>();
    let failed: unknown;

    const send = async (cut: Cut) => {
      const message = messageOf(file, cut, trace);
      const sent = step('send', () => publisher.send('rows', [message])).catch((error) => {
        failed ??= error;
      });
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
      if (sending.size >= IN_FLIGHT) await Promise.race(sending);
      if (failed) throw failed;
    };

    const open = (from: number) => bytesOf(file, job, from, step);
    for await (const cut of cutFile(file, resume, { open, failureOf, maxRatio: deps.gzipRatio })) {
      step.signal.throwIfAborted();
      await send(cut);
    }
    await Promise.all(sending);
    if (failed) throw failed;
  }

  return {
    name: 'split',
    input: 'files',
    weigh: ({ name, value }) => (name === 'ListedFile' ? value.size : 0),
    async handle({ message, step, trace }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const context = await step.read('look up the job', () => contexts.get(file.job, file.attempt));
      if (!context?.wanted) return;
      const resume = await step.read('find where to resume', () => ledger.resumePoint(file));
      if (resume === 'complete') return;
      const isWanted = () => wanted(file);
      await step.whileWanted('split the file', isWanted, (each) =>
        split(file, context.job, resume, { step: each, trace }),
      );
      deps.log.debug({ job: file.job, file: file.file, path: file.path }, 'file split');
    },
    /** Fails the file behind the batches that are validated. Should another come first, the file is dispatched again and we with it. */
    async giveUp({ message, step, trace }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const resume = await step.read('find where to resume', () => ledger.resumePoint(file));
      if (resume === 'complete') return;
      const failure: FileFailure = { code: 'internal_error', message: fileFailureCodes.internal_error };
      for (const cut of failFile(file, resume, failure))
        await step('give-up', () => publisher.send('rows', [messageOf(file, cut, trace)]));
    },
  };
}

export function failureOf(error: unknown): FileFailure | null {
  if (!(error instanceof StoreFailure)) return null;
  const { code, message } = error;
  return { code: code in fileFailureCodes ? (code as FileFailureCode) : 'access_denied', message };
}
