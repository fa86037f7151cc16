/** Ends a job that every slot has merged, or never will: sums the slots' counts and writes the results. */

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
import type { ErasedFrom } from '../../../stores/audiences.ts';
import { StaleRead } from '../../../stores/bulk.ts';
import type { JobOutcome } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { DispatchStep } from '../steps.ts';
import { describeDrop } from './describe-drop.ts';
import type { IssueReceipt } from './issue-receipt.ts';

export interface Ending {
  job: JobDocument;
  outcome: JobOutcome;
  /** Pairs added by attribute; of a deletion, removed. */
  attributePairs: Map<number, number>;
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

/** Longer than a stage goes on believing that a job is wanted: what is redelivered meanwhile is forgotten too. */
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
  /** Ended jobs whose ledger is to be cleared: together, a moment later. */
  const ended: number[] = [];
  let clearing: NodeJS.Timeout | undefined;
  function forgetSoon(jobs: number[], step: DispatchStep): void {
    ended.push(...jobs);
    clearing ??= setTimeout(() => {
      clearing = undefined;
      const some = ended.splice(0);
      step('forget', () =>
        Promise.all([ledger, acks, votes, verdicts].map((store) => store.forget(some))),
      ).catch((error) => log.debug({ err: error }, 'the ledger of ended jobs is left to the sweep'));
    }, FORGET_MS);
    clearing.unref();
  }

  async function updateAudience(
    job: JobDocument,
    acked: AckDocument[],
    errors: JobError[] | null,
  ): Promise<void> {
    const { uploaded, failed, rejected } = await files.changeBy(job);
    await audiences.recordLoad(job, {
      newDevices: sum(acked, 'newDevices'),
      matchedDevices: sum(acked, 'matchedDevices'),
      uploadedDevices: uploaded,
      failedFiles: failed,
      rejected,
      errors,
    });
  }

  /** In the order of the requests: the last one that an audience includes stands for those before it. */
  async function recordErasures(endings: Ending[], step: DispatchStep): Promise<void> {
    for (const { job, erased } of endings) {
      if (erased.length === 0) continue;
      const open = await step.read('look for loads that have not ended', () => jobs.decidedLoads());
      const loading = new Set(open.map(({ audience }) => audience));
      await step('erased', () => audiences.recordErasure(job, erased, loading));
    }
  }

  /** Only asked for when every slot has merged the job. Null: another dispatcher has ended it, and cleared them. */
  async function allAcks({ _id, dropRequested }: JobDocument): Promise<AckDocument[] | null> {
    const found = await acks.ofJob(_id);
    const isDropped = found.some(({ dropped }) => dropped);
    if (found.length === slots && (dropRequested || !isDropped)) return found;
    if ((await jobs.endedAmong([_id])).has(_id)) return null;
    throw new StaleRead(
      `${found.length} slots have acknowledged job ${_id}${isDropped ? ', some a drop' : ''}`,
    );
  }

  /** Distinct pairs by file over all slots: at once, or page by page where there are pages. */
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
    /** Everything but the end itself: may be done before earlier jobs have ended. Null: it has ended already. */
    async conclude(job: JobDocument, step: DispatchStep): Promise<Ending | null> {
      const acked = await step.read('read the acks', () => allAcks(job));
      if (!acked) return null;
      const listing = job.listing!;
      for await (const pairs of pagesOfPairs(acked, step))
        await step('duplicates', () => files.recordDistinctPairs({ listing, pairs }));
      // Nothing of it counts, so no file of it is loaded, whatever was decided of the file itself and merged before a clear.
      const wholeFailure = job.errors?.find(({ file }) => file === undefined);
      const isNothing = wholeFailure !== undefined && job.verdict!.passed.length === 0;
      const drop = job.dropRequested && !isNothing ? describeDrop(job, acked) : undefined;
      const errors = drop ? [...(job.errors ?? []), drop.error] : job.errors;
      // So that they are loaded again when they are submitted again.
      const failure = isNothing ? wholeFailure : drop?.isIncomplete && drop.error;
      if (job.listing && failure) {
        const { code, message } = failure;
        await step('fail-files', () => files.failAll(listing, { code, message } as FileFailure));
      }
      if (job.audience !== null) await step('audience', () => updateAudience(job, acked, errors));
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
        // The list is read for it.
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
      return { job, outcome, attributePairs: pairsByAttribute(acked), erased };
    },

    /** Those of a lane in their order. */
    async end(endings: Ending[], step: DispatchStep): Promise<JobDocument[]> {
      const changes = endings.flatMap(changeOf);
      const loaded = endings
        .filter(({ job }) => job.kind === 'import' || job.kind === 'audience')
        .map(({ job, outcome: { rows } }) => ({ job, rows }));
      await Promise.all([
        changes.length > 0 && step('count-attributes', () => attributeDevices.record(changes)),
        loaded.length > 0 && step('count-usage', () => usage.record(loaded)),
        recordErasures(endings, step),
      ]);
      const ended = await step('end', () => jobs.end(endings.map(({ job, outcome }) => ({ job, outcome }))));
      const dropped = ended.find(({ phase }) => phase !== 'ended');
      if (dropped) throw new Error(`job ${dropped._id} was dropped meanwhile`);
      // Nothing asks for these again; should the process die first, the sweep finds them.
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

/** What the job changed in attributes, if anything. */
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

/** What was removed from each audience, over all slots. */
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
