/**
 * One job, from accepted to ended: list → load → seal → commit → end. Sealing and ending wait their turn, so that jobs are
 * merged and finished strictly in the order of their numbers; everything before that runs ahead. Every step can be
 * taken again by a successor: what was decided is in MongoDB before it is acted upon.
 */

import { encode } from '../../../schemas/codec.ts';
import { fileFailureCodes } from '../../../schemas/codes.ts';
import { type JobDocument, type JobError, JobStatus, type JobVerdict } from '../../../schemas/documents.ts';
import type { Publisher } from '../../runtime/kafka.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Retry } from '../../runtime/retry.ts';
import type { FileStore } from '../../stores/files.ts';
import type { JobStore } from '../../stores/jobs.ts';
import type { EndJob } from './end-job.ts';
import type { InOrder } from './in-order.ts';
import { type createListFiles, newListing } from './list-files.ts';
import type { LedgerWatch } from './watch-ledger.ts';

export interface RunDependencies {
  log: Logger;
  retry: Retry;
  publisher: Publisher;
  jobs: JobStore;
  files: FileStore;
  listFiles: ReturnType<typeof createListFiles>;
  endJob: EndJob;
  ensureAudience(job: JobDocument): Promise<void>;
  isCancelled(job: JobDocument): Promise<boolean>;
  publishStatus(job: JobDocument): Promise<void>;
  devicePartitions: number;
}

/** What the jobs under way at one dispatcher share. */
export interface Turns {
  sealing: InOrder;
  ending: InOrder;
  watch: LedgerWatch;
  signal: AbortSignal;
  /** Resolves when the job before this one of the same audience has ended: what it loaded is not loaded again. */
  afterEarlierLoads(job: JobDocument): Promise<void>;
}

/** What a job comes to before it is merged. */
interface Outcome {
  verdict: JobVerdict;
  rows: number;
  filesDone: number;
  errors: JobError[] | null;
}

const nothing: JobVerdict = { passed: [], collapsed: [], pairs: 0 };
const empty = (errors: JobError[] | null): Outcome => ({ verdict: nothing, rows: 0, filesDone: 0, errors });
/** More failed files than this are only counted. */
const MOST_ERRORS = 100;

export function createRunJob(deps: RunDependencies) {
  const { retry, jobs, files } = deps;

  /** Lists the files, unless an earlier dispatcher did. Gives the outcome at once where there is nothing to load. */
  async function list(job: JobDocument, turns: Turns): Promise<{ job: JobDocument; outcome?: Outcome }> {
    const { signal } = turns;
    if (job.phase === 'loading' || job.phase === 'sealed') return { job };
    await retry('make the audience', () => deps.ensureAudience(job), signal);
    await turns.afterEarlierLoads(job);
    const listing = newListing(job._id);
    const claimed = await retry('claim the job', () => jobs.claim(job._id, listing), signal);
    if (!claimed) return { job: (await retry('look up the job', () => jobs.get(job._id), signal))! };
    await deps.publishStatus(claimed);
    if (job.kind === 'delete') return { job: claimed, outcome: empty(null) };
    const listed = await retry('list files', () => deps.listFiles(claimed, listing), signal);
    if (!listed) return { job: (await retry('look up the job', () => jobs.get(job._id), signal))! };
    return listed.problem ? { job: listed.job, outcome: empty([listed.problem]) } : { job: listed.job };
  }

  /** Adds up what was decided of the files. */
  async function addUp(job: JobDocument): Promise<Outcome> {
    const outcome: Outcome = {
      verdict: { passed: [], collapsed: [], pairs: 0 },
      rows: 0,
      filesDone: 0,
      errors: null,
    };
    const { passed, collapsed } = outcome.verdict;
    const errors: JobError[] = [];
    let failed = 0;
    for await (const file of files.ofListing(job.listing!)) {
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

  /** Writes down what will be merged, then says so to every partition. In turn, so the markers stand in the order of the jobs. */
  async function seal(
    job: JobDocument,
    early: Outcome | undefined,
    signal: AbortSignal,
  ): Promise<JobDocument> {
    let sealed: JobDocument | null = job.phase === 'sealed' ? job : null;
    if (!sealed) {
      let outcome = early ?? (await retry('add up the files', () => addUp(job), signal));
      if (await retry('look for a clear', () => deps.isCancelled(job), signal)) {
        outcome = empty([{ code: 'cancelled', message: fileFailureCodes.cancelled }]);
      }
      sealed =
        (await retry('seal the job', () => jobs.seal(job._id, outcome), signal)) ??
        (await retry('look up the job', () => jobs.get(job._id), signal));
    }
    if (sealed?.phase === 'sealed') await sendMarkers(sealed, signal);
    return sealed!;
  }

  async function sendMarkers(job: JobDocument, signal: AbortSignal): Promise<void> {
    const value = encode('CommitMarker', {
      job: job._id,
      kind: job.kind,
      passed: job.verdict!.passed,
      collapsed: job.verdict!.collapsed,
      attributes: job.attributes ?? [],
      audience: job.audience,
      generation: job.generation,
    });
    const markers = Array.from({ length: deps.devicePartitions }, (_, partition) => ({
      partition,
      key: `job ${job._id}`,
      value,
    }));
    await retry('send the markers', () => deps.publisher.send('devices', markers), signal);
  }

  return async (job: JobDocument, turns: Turns): Promise<void> => {
    const { signal } = turns;
    const log = deps.log.child({ job: job._id });
    let current = job;
    if (current.phase !== 'withdrawn' && current.phase !== 'ended') {
      const listed = await list(current, turns);
      current = listed.job;
      if (current.phase === 'loading' && !listed.outcome) {
        log.info({ files: current.fileCount }, 'loading');
        await turns.watch.load(current);
      }
      current = await turns.sealing.pass(job._id, async () =>
        current.phase === 'withdrawn' ? current : seal(current, listed.outcome, signal),
      );
      if (current.phase === 'sealed') await turns.watch.commit(job._id);
    } else {
      await turns.sealing.pass(job._id, async () => {});
    }
    await turns.ending.pass(job._id, async () => {
      if (current.phase === 'sealed') current = await deps.endJob(current, signal);
      if (current.phase === 'ended') await deps.publishStatus(current);
    });
    if (current.status === JobStatus.error) log.warn({ errors: current.errors }, 'ended with errors');
    else
      log.info({ phase: current.phase, rows: current.rows, unique_devices: current.uniqueDevices }, 'ended');
  };
}
