/**
 * One job, from accepted to ended: list → load → seal → mark → commit → end. Marking and ending wait their turn, so that jobs
 * are merged and finished strictly in the order of their numbers; everything else runs ahead. Every step can be
 * taken again by a successor: what was decided is in MongoDB before it is acted upon.
 */

import { fileFailureCodes } from '../../../schemas/codes.ts';
import {
  type FileDocument,
  type JobDocument,
  type JobError,
  JobStatus,
  type JobVerdict,
} from '../../../schemas/documents.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { FileStore } from '../../stores/files.ts';
import type { JobOutcome, JobStore } from '../../stores/jobs.ts';
import type { createEndJob } from './end-job.ts';
import type { InOrder } from './in-order.ts';
import type { createListFiles } from './list-files.ts';
import type { JudgedFile, LedgerWatch } from './watch-ledger.ts';

export interface RunDependencies {
  log: Logger;
  retry: Retry;
  jobs: JobStore;
  files: FileStore;
  listFiles: ReturnType<typeof createListFiles>;
  concludeJob: ReturnType<typeof createEndJob>['conclude'];
  ensureAudience(job: JobDocument): Promise<void>;
  isCancelled(job: JobDocument): Promise<boolean>;
  publishStatus(job: JobDocument): Promise<void>;
}

/** What the jobs under way at one dispatcher share. */
export interface Turns {
  /** Sends a sealed job's markers. Null: there is nothing to merge. */
  markers: InOrder<JobDocument | null, void>;
  /** Ends a job. Null: it had ended before. */
  ends: InOrder<Ending | null, JobDocument | null>;
  watch: LedgerWatch;
  signal: AbortSignal;
  /** Whether an earlier dispatcher may have begun with the job. */
  mayBeListed(job: number): boolean;
  /** Resolves when the job before this one of the same audience has ended: what it loaded is not loaded again. */
  afterEarlierLoads(job: JobDocument): Promise<void>;
}

export interface Ending {
  job: JobDocument;
  outcome: JobOutcome;
}

/** What a job comes to before it is merged. */
interface Outcome {
  verdict: JobVerdict;
  rows: number;
  filesDone: number;
  errors: JobError[] | null;
}

const inOrder = (judged: JudgedFile[] | null) => judged?.sort((a, b) => a.number - b.number);
const nothing: JobVerdict = { passed: [], collapsed: [], pairs: 0 };
const empty = (errors: JobError[] | null): Outcome => ({ verdict: nothing, rows: 0, filesDone: 0, errors });
/** More failed files than this are only counted. */
const MOST_ERRORS = 100;

export function createRunJob(deps: RunDependencies) {
  const { retry, jobs, files } = deps;

  /** Lists the files, unless an earlier dispatcher did. Gives the outcome at once where there is nothing to load. */
  async function list(
    job: JobDocument,
    turns: Turns,
  ): Promise<{ job: JobDocument; first?: FileDocument[]; outcome?: Outcome }> {
    const { signal } = turns;
    if (job.phase !== 'accepted') return { job };
    await retry('make the audience', () => deps.ensureAudience(job), signal);
    await turns.afterEarlierLoads(job);
    if (job.kind === 'delete') return { job, outcome: empty(null) };
    const listed = await deps.listFiles(job, signal);
    if (listed.problem) return { job: listed.job, outcome: empty([listed.problem]) };
    if (listed.first) await deps.publishStatus(listed.job);
    return listed;
  }

  /** Adds up what was decided of the files. */
  async function addUp(judged: Iterable<JudgedFile> | AsyncIterable<JudgedFile>): Promise<Outcome> {
    const outcome: Outcome = {
      verdict: { passed: [], collapsed: [], pairs: 0 },
      rows: 0,
      filesDone: 0,
      errors: null,
    };
    const { passed, collapsed } = outcome.verdict;
    const errors: JobError[] = [];
    let failed = 0;
    for await (const file of judged) {
      outcome.filesDone++;
      outcome.rows += file.rows;
      if (file.failure) {
        if (failed++ < MOST_ERRORS) errors.push({ ...file.failure, file: file.path });
        continue;
      }
      if (passed.length > 0 && passed.at(-1) === file.number - 1) passed[passed.length - 1] = file.number;
      else passed.push(file.number, file.number);
      if (file.eventsCollapsed) collapsed.push(file.number);
      outcome.verdict.pairs += file.pairs;
    }
    if (failed > MOST_ERRORS) {
      const message = `${failed - MOST_ERRORS} more files failed; see the job’s files.`;
      errors.push({ code: errors[0]!.code, message, count: failed - MOST_ERRORS });
    }
    if (failed > 0) outcome.errors = errors;
    return outcome;
  }

  /** Writes down what will be merged, so that every marker says the same. */
  async function seal(
    job: JobDocument,
    early: Outcome | undefined,
    judged: JudgedFile[] | null,
    signal: AbortSignal,
  ): Promise<JobDocument> {
    if (job.phase !== 'accepted' && job.phase !== 'loading') return job;
    let outcome =
      early ??
      (await retry(
        'add up the files',
        () => addUp(inOrder(judged) ?? files.ofListing(job.listing!)),
        signal,
      ));
    if (await retry('look for a clear', () => deps.isCancelled(job), signal)) {
      outcome = empty([{ code: 'cancelled', message: fileFailureCodes.cancelled }]);
    }
    faultPoint('dispatch:before-seal');
    const sealed = await retry('seal the job', () => jobs.seal(job._id, outcome), signal);
    faultPoint('dispatch:after-seal');
    return sealed;
  }

  return async (job: JobDocument, turns: Turns): Promise<void> => {
    const { signal } = turns;
    const log = deps.log.child({ job: job._id });
    const listed = await list(job, turns);
    let current = listed.job;
    let judged: JudgedFile[] | null = null;
    if (current.phase === 'loading') {
      log.info({ files: current.fileCount }, 'loading');
      judged = await turns.watch.load(current, listed.first ?? null);
    }
    current = await seal(current, listed.outcome, judged, signal);
    // No other list can become the job's any more: those that dispatchers wrote and did not live to freeze are nobody's.
    if (turns.mayBeListed(job._id))
      await retry('drop other lists', () => files.forgetOthers(job._id, current.listing), signal);
    const sealed = current.phase === 'sealed';
    await turns.markers.pass(job._id, sealed ? current : null);
    if (sealed) await turns.watch.commit(job._id);
    const ending = sealed ? { job: current, outcome: await deps.concludeJob(current, signal) } : null;
    current = (await turns.ends.pass(job._id, ending)) ?? current;
    if (current.phase === 'ended') await deps.publishStatus(current);
    if (current.status === JobStatus.error) log.warn({ errors: current.errors }, 'ended with errors');
    else
      log.info({ phase: current.phase, rows: current.rows, unique_devices: current.uniqueDevices }, 'ended');
  };
}
