/** Ends a job that every slot has merged or dropped: sums the slots' counts and writes the results. */

import {
  type FileFailure,
  type JobDocument,
  type JobError,
  JobStatus,
} from '../../../../schemas/job-documents.ts';
import type { AckDocument } from '../../../../schemas/stage-documents.ts';
import { unpackCounts, unpackNumbers } from '../../../formats/number-table.ts';
import type { Logger } from '../../../runtime/log.ts';
import { pagesIn } from '../../../stores/acks.ts';
import type { AttributeChange } from '../../../stores/attribute-devices.ts';
import type { ErasedFrom, LoadResult } from '../../../stores/audiences.ts';
import { StaleRead } from '../../../stores/bulk.ts';
import type { JobOutcome } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';
import { describeDrop } from './describe-drop.ts';
import type { IssueReceipt } from './issue-receipt.ts';

export interface Ending {
  job: JobDocument;
  outcome: JobOutcome;
  /** Pairs added by attribute; for a deletion, pairs removed. */
  attributePairs: Map<number, number>;
  /** Of a load: what it adds to its audience. */
  load?: LoadResult;
  /** Of a privacy request: what was removed from audiences. */
  erased: ErasedFrom[];
}

interface Dependencies
  extends Pick<
    Stores,
    | 'jobs'
    | 'files'
    | 'attributeDevices'
    | 'audiences'
    | 'ledger'
    | 'acks'
    | 'votes'
    | 'verdicts'
    | 'usage'
    | 'identifierLists'
  > {
  log: Logger;
  slots: number;
  issueReceipt: IssueReceipt;
}

export type EndJobs = ReturnType<typeof createEndJobs>;

/** Longer than stages cache that a job is wanted: entries written by redeliveries until then are removed, too. */
const FORGET_MS = 2_000;

export function createEndJobs(deps: Dependencies) {
  const {
    log,
    slots,
    jobs,
    files,
    ledger,
    acks,
    votes,
    verdicts,
    attributeDevices,
    audiences,
    usage,
    identifierLists,
  } = deps;
  /** Ended jobs whose ledger is removed in one go, after FORGET_MS. */
  const ended: number[] = [];
  let clearing: NodeJS.Timeout | undefined;
  function forgetSoon(jobs: number[], step: DispatchStep): void {
    ended.push(...jobs);
    clearing ??= setTimeout(() => {
      clearing = undefined;
      const due = ended.splice(0);
      step('forget', () =>
        Promise.all([ledger, acks, votes, verdicts].map((store) => store.forget(due))),
      ).catch((error) => log.debug({ err: error }, 'the ledger of ended jobs is left to the sweep'));
    }, FORGET_MS);
    clearing.unref();
  }

  async function resultOf(
    job: JobDocument,
    acked: AckDocument[],
    errors: JobError[] | null,
  ): Promise<LoadResult> {
    const { uploaded, failed, rejected } = await files.changeBy(job);
    return {
      newDevices: sum(acked, 'newDevices'),
      matchedDevices: sum(acked, 'matchedDevices'),
      uploadedDevices: uploaded,
      failedFiles: failed,
      rejected,
      errors,
    };
  }

  /** Each of another audience: a load waits until the previous load of its audience has ended. */
  const recordLoads = (endings: Ending[], step: DispatchStep) =>
    Promise.all(
      endings.map(({ job, load }) => load && step('audience', () => audiences.recordLoad(job, load))),
    );

  /** In order of the requests: an audience records only the last request it includes. */
  async function recordErasures(endings: Ending[], step: DispatchStep): Promise<void> {
    for (const { job, erased } of endings) {
      if (erased.length > 0) await step('erased', () => audiences.recordErasure(job, erased));
    }
  }

  /** Call it when every slot has acknowledged. Null: another dispatcher has ended the job and removed its acks. */
  async function allAcks({ _id, dropRequested }: JobDocument): Promise<AckDocument[] | null> {
    const found = await acks.ofJob(_id);
    const isDropped = found.some(({ dropped }) => dropped);
    if (found.length === slots && (dropRequested || !isDropped)) return found;
    if ((await jobs.endedAmong([_id])).has(_id)) return null;
    throw new StaleRead(
      `found acks of ${found.length} slots for job ${_id}${isDropped ? ', including a drop' : ''}`,
    );
  }

  /** Distinct pairs by file over all slots: page by page if the files are paged, otherwise in one go. */
  async function* pagesOfPairs(
    acked: AckDocument[],
    step: DispatchStep,
  ): AsyncGenerator<Map<number, number>> {
    for (const page of pagesIn(acked)) {
      const pairs = await step.read('read pairs by file', () => acks.filePairs(acked, page));
      if (pairs.size > 0) yield pairs;
    }
  }

  return {
    /** Everything that may happen before earlier jobs of the lane have ended. Null: the job has already ended. */
    async conclude(job: JobDocument, step: DispatchStep): Promise<Ending | null> {
      const acked = await step.read('read the acks', () => allAcks(job));
      if (!acked) return null;
      const listing = job.listing!;
      for await (const pairs of pagesOfPairs(acked, step))
        await step('duplicates', () => files.recordDistinctPairs({ listing, pairs }));
      // Nothing of the job counts, so all of its files fail, whatever was decided about them or merged before a clear.
      const wholeFailure = job.errors?.find(({ file }) => file === undefined);
      const isNothing = wholeFailure !== undefined && job.verdict!.passed.length === 0;
      const drop = job.dropRequested && !isNothing ? describeDrop(job, acked) : undefined;
      const errors = drop ? [...(job.errors ?? []), drop.error] : job.errors;
      // Mark its files as failed, so that submitting them again loads them.
      const failure = isNothing ? wholeFailure : drop?.isIncomplete && drop.error;
      if (job.listing && failure) {
        const { code, message } = failure;
        await step('fail-files', () => files.failAll(listing, { code, message } as FileFailure));
      }
      const load =
        job.audience === null
          ? {}
          : { load: await step.read('add up the load', () => resultOf(job, acked, errors)) };
      const suppressed = sum(acked, 'suppressed');
      if (suppressed > 0 && job.listing)
        await step('suppressed', () => files.recordSuppressed(listing, suppressedByFile(acked)));
      const erased = erasedFrom(acked);
      if (job.kind === 'privacy') {
        const removed = {
          found: sum(acked, 'uniqueDevices'),
          attributes: pairsByAttribute(acked),
          audiences: erased,
        };
        // Before the list is removed: the receipt needs it.
        await step('receipt', () => deps.issueReceipt({ ...job, errors }, removed));
        const { identifiers } = job;
        if (identifiers !== undefined) await step('forget-list', () => identifierLists.remove(identifiers));
      }
      const growth = {
        audienceDevices: sum(acked, 'audienceDevices'),
        newDevices: isNothing ? 0 : sum(acked, 'newDevices'),
      };
      const outcome: JobOutcome = {
        status: errors ? JobStatus.error : JobStatus.done,
        uniqueDevices: isNothing ? 0 : sum(acked, 'uniqueDevices'),
        ...(suppressed > 0 && !isNothing ? { suppressed } : {}),
        rows: job.kind === 'delete' ? sum(acked, 'pairs') : job.rows,
        errors,
        ...(job.audience === null ? {} : growth),
        ...(drop ? { dropped: drop.slots } : {}),
      };
      return { job, outcome, attributePairs: pairsByAttribute(acked), ...load, erased };
    },

    /** Jobs of a lane must be in order. */
    async end(endings: Ending[], step: DispatchStep): Promise<JobDocument[]> {
      const changes = endings.flatMap(changeOf);
      const loaded = endings
        .filter(({ job }) => job.kind === 'import' || job.kind === 'audience')
        .map(({ job, outcome: { rows } }) => ({ job, rows }));
      const isCounted = Promise.all([
        changes.length > 0 && step('count-attributes', () => attributeDevices.record(changes)),
        loaded.length > 0 && step('count-usage', () => usage.record(loaded)),
        recordLoads(endings, step),
        recordErasures(endings, step),
      ]);
      isCounted.catch(() => {});
      const ended = await step('end', () =>
        jobs.end(
          endings.map(({ job, outcome }) => ({ job, outcome })),
          isCounted,
        ),
      );
      const dropped = ended.find(({ phase }) => phase !== 'ended');
      if (dropped) throw new Error(`job ${dropped._id} was dropped meanwhile`);
      // No longer needed. If the process dies first, the sweep removes them.
      forgetSoon(
        ended.map(({ _id }) => _id),
        step,
      );
      return ended;
    },
  };
}

function sum(
  acked: AckDocument[],
  field: 'uniqueDevices' | 'pairs' | 'audienceDevices' | 'newDevices' | 'matchedDevices' | 'suppressed',
): number {
  return acked.reduce((total, ack) => total + (ack[field] ?? 0), 0);
}

function pairsByAttribute(acked: AckDocument[]): Map<number, number> {
  const byAttribute = new Map<number, number>();
  for (const { attributePairs } of acked) {
    if (!attributePairs) continue;
    for (const [attribute, pairs] of unpackCounts(attributePairs.value()))
      byAttribute.set(attribute, (byAttribute.get(attribute) ?? 0) + pairs);
  }
  return byAttribute;
}

/** The job's changes to attributes, if any. */
function changeOf({ job, outcome, attributePairs }: Ending): AttributeChange[] {
  const { _id, partner, kind, createdAt } = job;
  const isImport = kind === 'import';
  const isEmptied = kind === 'delete' && outcome.status === JobStatus.done;
  const attributes = isEmptied ? job.attributes! : [...attributePairs.keys()];
  const added = attributes.map((attribute): [number, number] => {
    const pairs = attributePairs.get(attribute) ?? 0;
    return [attribute, isImport ? pairs : 0 - pairs];
  });
  if (added.length === 0) return [];
  return [
    { job: _id, partner, added: new Map(added), isEmptied, ...(isImport ? { importedAt: createdAt } : {}) },
  ];
}

/** Distinct devices by file, over all slots. */
function suppressedByFile(acked: AckDocument[]): Map<number, number> {
  const byFile = new Map<number, number>();
  for (const { suppressedByFile: packed } of acked)
    for (const [file, devices] of packed ? unpackCounts(packed.value()) : [])
      byFile.set(file, (byFile.get(file) ?? 0) + devices);
  return byFile;
}

/** Removals by audience, over all slots. */
function erasedFrom(acked: AckDocument[]): ErasedFrom[] {
  const byAudience = new Map<string, ErasedFrom>();
  for (const { audiences } of acked)
    for (const row of audiences ? unpackNumbers(audiences.value(), 4) : []) {
      const [audience, generation, devices, matched] = row as [number, number, number, number];
      const name = `${audience}.${generation}`;
      const sum = byAudience.get(name) ?? { audience, generation, devices: 0, matched: 0 };
      byAudience.set(name, sum);
      sum.devices += devices;
      sum.matched += matched;
    }
  return [...byAudience.values()];
}
