/**
 * split: streams an object, decompresses it if needed, and cuts it into batches of rows. The cuts depend only on the bytes, so splitting a
 * file again yields the same batches; batches already in the ledger are not sent again. Files are read concurrently (split/places.ts), up
 * to a limit of bytes ahead of validate (kafka/bytes-ahead.ts). In both, no partner waits for another partner's files, and a partner's
 * older jobs go first.
 */

import { type FileFailureCode, fileFailureCodes } from '../../schemas/codes.ts';
import type { FileFailure, JobDocument } from '../../schemas/job-documents.ts';
import type { ListedFile } from '../../schemas/topics.ts';
import type { Delivery, Stage } from '../engine/stage.ts';
import { cutFile, failFile } from '../formats/cut-file.ts';
import type { Cut, ResumePoint } from '../formats/cut-rows.ts';
import { createBytesAhead } from '../kafka/bytes-ahead.ts';
import type { HandledOffsets } from '../kafka/handled-offsets.ts';
import type { Placed, Publisher } from '../kafka/publish.ts';
import type { LagReader } from '../kafka/read-lag.ts';
import type { Logger } from '../runtime/log.ts';
import { type ObjectStore, StoreFailure } from '../sources/object-store.ts';
import type { CounterStore } from '../stores/counters.ts';
import { type FileStore, isUndecided } from '../stores/files.ts';
import type { JobContexts } from '../stores/job-contexts.ts';
import type { LedgerStore } from '../stores/ledger.ts';
import { encode } from '../wire/codec.ts';
import { createFilesInHand } from './split/files-in-hand.ts';
import { createPlaces } from './split/places.ts';
import type { SplitStep, SplitStepName } from './split/steps.ts';

/** Limits of large files that a thread reads at once. At 2 MB each, 48 take about 100 MB. */
const PLACES = { own: 4, shared: 12, total: 48 };
/** Batches of a file in flight to Kafka while the next one is cut. */
const IN_FLIGHT = 3;
/** Fixed cost of validating a batch, in bytes of rows (estimated). Keeps the queue short when a prefix has thousands of tiny files. */
const BATCH_OVERHEAD = 32_000;
const HOLD_MS = 500;
/** Compressed files of at least this size are finished by the process that started them; smaller ones are simply restarted. */
const IN_HAND_BYTES = 65_536;

export interface SplitDependencies {
  log: Logger;
  publisher: Publisher;
  contexts: JobContexts;
  ledger: LedgerStore;
  files: FileStore;
  counters: CounterStore;
  lags: Pick<LagReader, 'positionsOf'>;
  handledOffsets: Pick<HandledOffsets, 'subscribe'>;
  rowsAheadBytes: number;
  /** The storage of a job's files, opened with the job's credentials. */
  sourceOf(job: JobDocument): Promise<{ store: ObjectStore; bucket: string }>;
  rowPartitions: number;
  /** A reader that is gone for this long has lost its partitions, and the leases on its files. */
  sessionTimeoutMs: number;
  /** Bytes read from storage. */
  onRead(bytes: number): void;
}

type Trace = Delivery['trace'];
interface Reading {
  step: SplitStep;
  trace: Trace;
}

const nameOf = ({ job, attempt, file }: ListedFile) => `${job}.${attempt}.${file}`;

export function createSplitFiles(deps: SplitDependencies): Stage<SplitStepName> {
  const { publisher, contexts, ledger, files, log } = deps;
  const rowsAhead = createBytesAhead(deps.rowsAheadBytes, {
    log,
    positions: () => deps.lags.positionsOf('validate'),
    subscribe: (onHandled) => deps.handledOffsets.subscribe('validate', onHandled),
  });
  const places = createPlaces(PLACES);
  const filesInHand = createFilesInHand({ ...deps, leaseMs: deps.sessionTimeoutMs });
  /** Files read in this assignment. */
  let reading = new Map<string, Promise<unknown>>();

  /** False once the rest of the file is not needed: the job ended, the audience was cleared, or the file failed. */
  async function wanted(file: ListedFile): Promise<boolean> {
    const context = await contexts.get(file.job, file.attempt);
    if (!context?.wanted || !context.job.listing) return false;
    // Null: not visible yet, on a newly elected primary.
    const document = await files.get(context.job.listing, file.file);
    return document === null || isUndecided(document, file.attempt);
  }

  const messageOf = ({ job, file, partner, layout, path, attempt }: ListedFile, cut: Cut, trace: Trace) => ({
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
      deps.onRead(bytes.length);
      yield bytes;
    }
  }

  /** A job that has exceeded the read-ahead limit is on hold, even in the middle of a file. */
  async function untilReleased(file: ListedFile, step: SplitStep): Promise<void> {
    const isHeld = async () => (await contexts.get(file.job, file.attempt))?.job.onHold;
    while (await step.read('check whether the job is on hold', isHeld)) await step.pause(HOLD_MS);
  }

  /** Returns the last offsets of the rows sent. */
  async function split(
    file: ListedFile,
    job: JobDocument,
    resume: ResumePoint | null,
    { step, trace }: Reading,
  ): Promise<Placed> {
    const sending = new Set<Promise<void>>();
    const last: Placed = new Map();
    let failed: unknown;

    const publish = async (cut: Cut): Promise<Placed> => {
      const message = messageOf(file, cut, trace);
      return step('send', () => publisher.send('rows', [message]));
    };
    /** A file that waits for room keeps only one batch in memory. */
    const send = async (cut: Cut) => {
      const rows = { partner: file.partner, job: file.job, bytes: cut.rows.length + BATCH_OVERHEAD };
      const sendWithin = await rowsAhead.room(rows, step.signal);
      const sent = sendWithin(() => publish(cut)).then(
        (placed) => {
          for (const [partition, offset] of placed)
            if (offset > (last.get(partition) ?? -1n)) last.set(partition, offset);
        },
        (error) => {
          failed ??= error;
        },
      );
      sending.add(sent);
      void sent.then(() => sending.delete(sent));
      if (sending.size >= IN_FLIGHT) await Promise.race(sending);
      if (failed) throw failed;
    };
    const allSent = async () => {
      await Promise.all(sending);
      if (failed) throw failed;
    };

    let ofStorage: FileFailure | null = null;
    const source = {
      open: (from: number) => bytesOf(file, job, from, step),
      failureOf: (error: unknown) => {
        ofStorage = failureOf(error);
        return ofStorage;
      },
    };
    for await (const cut of cutFile(file, resume, source)) {
      step.signal.throwIfAborted();
      await untilReleased(file, step);
      if (!cut.failure || !ofStorage) await send(cut);
    }
    await allSent();
    for (const cut of ofStorage ? await cutBehind(file, ofStorage, step) : []) await send(cut);
    await allSent();
    return last;
  }

  /**
   * Fails the file after all batches that any reader has sent. A previous reader that died may have got further: a failure that depends on
   * time, not on the bytes, must not take the number of a batch that was sent.
   */
  async function cutBehind(file: ListedFile, failure: FileFailure, step: SplitStep): Promise<Cut[]> {
    await rowsAhead.caughtUp(step.signal);
    const resume = await step.read('find where to fail', () => ledger.resumePoint(file));
    return resume === 'complete' ? [] : failFile(file, resume, failure);
  }

  /** Reads and sends what the ledger lacks of the file. Undefined: the file is no longer wanted, or complete. */
  async function read(file: ListedFile, { step, trace }: Reading): Promise<Placed | undefined> {
    const [context, resume] = await Promise.all([
      step.read('look up the job', () => contexts.get(file.job, file.attempt)),
      step.read('find where to resume', () => ledger.resumePoint(file)),
    ]);
    if (!context?.wanted || resume === 'complete') return undefined;
    const isWanted = () => wanted(file);
    const sent = await step.whileWanted('split the file', isWanted, (each) =>
      split(file, context.job, resume, { step: each, trace }),
    );
    log.debug({ job: file.job, file: file.file, path: file.path }, 'file split');
    return sent;
  }

  const readInPlace = (file: ListedFile, { step, trace }: Reading) =>
    places.use(file, step.signal, () => read(file, { step, trace }));

  /** Compressed data has no random access: another reader would have to start over. */
  function finish(file: ListedFile, { step, trace }: Reading): Promise<void> {
    const isWanted = () => wanted(file);
    const fileInHand = {
      name: nameOf(file),
      isWanted,
      async read(own: SplitStep) {
        const sent = await readInPlace(file, { step: own, trace });
        // Until then the ledger lacks the last batches, and a new owner of the partition would read the whole file again.
        const untilValidated = ({ signal }: SplitStep) => rowsAhead.handled(sent!, signal);
        if (sent) await own.whileWanted('wait for validate', isWanted, untilValidated);
      },
    };
    return filesInHand.finish(fileInHand, step);
  }

  /** A file that is published again while being read is not read twice. */
  function readOnce(file: ListedFile, of: Reading): Promise<unknown> {
    const ofAssignment = reading;
    const name = nameOf(file);
    const known = ofAssignment.get(name);
    if (known) return known;
    const begun = readInPlace(file, of).finally(() => ofAssignment.delete(name));
    ofAssignment.set(name, begun);
    return begun;
  }

  return {
    name: 'split',
    input: 'files',
    isUnordered: true,
    weigh: ({ name, value }) => (name === 'ListedFile' ? value.size : 0),
    async handle({ message, step, trace }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const isLong = file.compressed && file.size >= IN_HAND_BYTES;
      if (!isLong) return void (await readOnce(file, { step, trace }));
      // Takes no lease for a file that is not wanted.
      const context = await step.read('look up the job', () => contexts.get(file.job, file.attempt));
      if (context?.wanted) await finish(file, { step, trace });
    },
    /** If another reader sends the batch first, the file is published again and this is retried. */
    async giveUp({ message, step, trace }) {
      if (message.name !== 'ListedFile') return;
      const file = message.value;
      const failure: FileFailure = { code: 'internal_error', message: fileFailureCodes.internal_error };
      for (const cut of await cutBehind(file, failure, step))
        await step('give-up', () => publisher.send('rows', [messageOf(file, cut, trace)]));
    },
    assigned() {
      reading = new Map();
    },
    stop: filesInHand.stop,
  };
}

export function failureOf(error: unknown): FileFailure | null {
  if (!(error instanceof StoreFailure)) return null;
  const { code, message } = error;
  return { code: code in fileFailureCodes ? (code as FileFailureCode) : 'access_denied', message };
}
