/**
 * The first half of a job: list → load → prepare. A job is decided only after every slot has voted that it holds the whole job. A repeated
 * failure here fails the job.
 */
import { Binary } from 'mongodb';
import { jobFailureCodes } from '../../../../schemas/codes.ts';
import type { FileDocument, FileFailure, JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { SlotTotal } from '../../../../schemas/topics.ts';
import { countFailures, FAILURE_PAUSE_MS, MAX_FAILURES } from '../../../engine/failures.ts';
import { createFileRanges } from '../../../formats/file-numbers.ts';
import {
  addPacked,
  MAX_ANSWERED_A_SLOT,
  MAX_PAIRS_A_SLOT,
  noTotals,
  packTotals,
} from '../../../formats/slot-totals.ts';
import type { Logger } from '../../../runtime/log.ts';
import { type Decision, isUndecided } from '../../../stores/jobs/jobs.ts';
import type { Stores } from '../../../stores/stores.ts';
import type { QuotaHold } from '../admit/hold-quotas.ts';
import type { createListFiles } from '../list/list-files.ts';
import type { JudgedFile } from '../load/loading-job.ts';
import { MAX_ATTEMPTS, type RepeatJob } from '../load/repeat-job.ts';
import type { StatusPublisher } from '../publish-status.ts';
import type { OwnTurns, ReadyJob, Turns } from '../turns.ts';
import { addUp, nothing } from './add-up-files.ts';
import { SinkFailed } from './coordinate-slots.ts';
import type { LimitAttributes } from './limit-attributes.ts';

export interface PrepareJobDependencies
  extends Pick<Stores, 'jobs' | 'files' | 'ledger' | 'audiences' | 'verdicts'> {
  log: Logger;
  listFiles: ReturnType<typeof createListFiles>;
  quotas: Pick<QuotaHold, 'hold'>;
  limitAttributes: LimitAttributes;
  status: Pick<StatusPublisher, 'publish'>;
  repeatJob: RepeatJob;
  /** Why the job is cancelled, if it is. */
  cancellationOf(job: JobDocument): Promise<FileFailure | undefined>;
}

const inOrder = (judged: JudgedFile[] | null) => judged?.sort((a, b) => a.number - b.number);
/** Totals by slot of the files that passed. */
function totalsOf(judged: JudgedFile[]): SlotTotal[] {
  const totals = noTotals();
  for (const { failure, slots } of judged) if (!failure && slots) addPacked(totals, slots);
  return totals;
}
/** The error of a job that exceeds the limit of a slot. */
function excessOf({ privacy }: JobDocument, totals: SlotTotal[]): JobError | undefined {
  const [max, what] =
    privacy === 'access'
      ? [MAX_ANSWERED_A_SLOT, 'devices; the limit of one access request']
      : [MAX_PAIRS_A_SLOT, 'pairs of device and key; the limit of one job'];
  if (totals.every(({ pairs }) => pairs <= max)) return undefined;
  const all = totals.reduce((sum, { pairs }) => sum + pairs, 0);
  const message = `The files hold ${all} ${what} is about ${totals.length * max}. Split the files.`;
  return { code: 'too_many_rows', message };
}

export type PrepareJob = ReturnType<typeof createPrepareJob>;

export function createPrepareJob(deps: PrepareJobDependencies) {
  const { jobs, files } = deps;

  /** Lists the files, unless a previous dispatcher has. Returns early with the decision if there is nothing to load. */
  async function list(
    job: JobDocument,
    { step, earlierLoad }: OwnTurns,
  ): Promise<{ job: JobDocument; first?: FileDocument[]; outcome?: Decision }> {
    if (job.phase !== 'accepted') {
      deps.quotas.hold(job);
      return { job };
    }
    await earlierLoad;
    if (job.kind === 'delete') return { job, outcome: nothing() };
    const listed = await deps.listFiles(job, step);
    if (listed.problem) return { job: listed.job, outcome: nothing(0, [listed.problem]) };
    return listed;
  }

  /** Loads the files, repeatedly if slots miss devices, until every slot votes that it holds what the ledger counts. */
  async function load(job: JobDocument, first: FileDocument[] | null, turns: Turns): Promise<Decision> {
    const { step } = turns;
    const attempt = job.attempt ?? 0;
    const { judged, bytes, refused } = await turns.files.load(job, first);
    const unpacked = bytes > (job.bytes ?? 0) ? { unpackedBytes: bytes } : {};
    if (refused) return { ...nothing(attempt, [refused]), ...unpacked };
    const added = await step.read('add up the files', () =>
      addUp(inOrder(judged) ?? files.decisionsOf(job.listing!), attempt),
    );
    const outcome = { ...added, ...unpacked };
    if (outcome.verdict.passed.length === 0) return outcome;
    const isWanted = createFileRanges(outcome.verdict.passed);
    const totals = judged
      ? totalsOf(judged)
      : await step.read('add up the slots', () =>
          deps.ledger.slotTotals({ job: job._id, attempt, isWanted }),
        );
    const excess = excessOf(job, totals) ?? (await deps.limitAttributes(job, totals, step));
    if (excess) return nothing(attempt, [excess]);
    const whole = { ...outcome.verdict, expected: new Binary(packTotals(totals)) };
    outcome.verdict = await step('verdict', () => deps.verdicts.keep(job._id, whole));
    const missing = await turns.slots.prepare(job, outcome.verdict);
    if (missing.length === 0) return outcome;
    // Cancelled: stop sending; the decision discards the rest.
    if (await step.read('look for a cancellation', () => deps.cancellationOf(job))) return outcome;
    if (attempt + 1 < MAX_ATTEMPTS) {
      const next = await deps.repeatJob(job, missing, turns.step);
      // Otherwise another dispatcher has decided it.
      return next.phase === 'listed' ? load(next, null, turns) : outcome;
    }
    const message = `Devices were lost on their way in each of ${MAX_ATTEMPTS} attempts; nothing was merged.`;
    return { ...nothing(attempt, [{ code: 'ledger_mismatch', message }]), ...unpacked };
  }

  async function listAndLoad(job: JobDocument, turns: OwnTurns): Promise<ReadyJob> {
    const listed = await list(job, turns);
    const current = listed.job;
    if (!isUndecided(current)) return { job: current };
    if (listed.outcome) return { job: current, outcome: listed.outcome };
    deps.log.info({ job: job._id, files: current.fileCount }, 'loading');
    const announced = listed.first && deps.status.publish(current, turns.step);
    announced?.catch(() => {});
    // Only now: before its list is frozen, the job may be withdrawn. Stages that read the files first wait for the audience.
    const hasAudience = turns.step('make-audience', () => deps.audiences.ensure(current));
    hasAudience.catch(() => {});
    const outcome = await turns.readAhead.use(job._id, current.bytes ?? 0, () =>
      load(current, listed.first ?? null, turns),
    );
    // `running` must be published before the end of the job.
    await announced;
    await hasAudience;
    return { job: current, outcome };
  }

  /** Prepares the decision. If preparing fails repeatedly, the job ends with an error and its lane continues. */
  return async (job: JobDocument, turns: OwnTurns): Promise<ReadyJob> => {
    const { step } = turns;
    const failures = countFailures();
    let current = job;
    while (isUndecided(current)) {
      if (failures.count >= MAX_FAILURES)
        return { job: current, outcome: internalError(current, failures.reason) };
      try {
        return await listAndLoad(current, turns);
      } catch (error) {
        step.signal.throwIfAborted();
        failures.add(error);
        const { count } = failures;
        deps.log.error(
          { job: job._id, err: error, failures: count },
          'the service failed to process the job',
        );
        // Sinks have given up this attempt: even a decision to merge nothing needs a new one.
        if (error instanceof SinkFailed) await step('attempt', () => jobs.nextAttempt(error.job));
        await step.pause(FAILURE_PAUSE_MS * count);
      }
      current = (await step.read('read the job', () => jobs.find(job._id))) ?? current;
    }
    return { job: current };
  };
}

/** The decision for a job that the service failed to process. */
export function internalError({ attempt }: JobDocument, reason: string): Decision {
  const problem: JobError = { code: 'internal_error', message: jobFailureCodes.internal_error };
  return { ...nothing(attempt, [problem]), internalReason: `dispatch: ${reason}` };
}
