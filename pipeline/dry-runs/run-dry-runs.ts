/** Takes and runs dry runs, a few at a time and fairly by partner, next to the stages that read storage. They are not ordered with jobs. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobFailureCodes } from '../../schemas/codes.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import { createRetry } from '../engine/retry.ts';
import { identifiersIn } from '../formats/find-identifiers.ts';
import { createFairShare } from '../runtime/fair-share.ts';
import type { Logger } from '../runtime/log.ts';
import type { DeviceSets } from '../sets/device-sets.ts';
import type { DryRunStore, TakenDryRun } from '../stores/dry-runs.ts';
import type { createReadDryRun, DryRead } from './read-dry-run.ts';

export interface RunDependencies {
  log: Logger;
  dryRuns: DryRunStore;
  sets: Pick<DeviceSets, 'suppressedIdentifiers'>;
  read: ReturnType<typeof createReadDryRun>;
  /** A dry run that takes longer fails with `storage_unavailable`. */
  deadlineMs?: number;
  everyMs?: number;
}

const AT_ONCE = 4;
/** Leaves room for other partners. */
const AT_ONCE_PER_PARTNER = 2;
const MAX_TRIES = 3;

const failed = (code: 'storage_unavailable' | 'internal_error'): DryRead => ({
  fileCount: 0,
  bytes: 0,
  prefixMatches: [],
  files: [],
  errors: [{ code, message: jobFailureCodes[code] }],
});

export function startDryRuns({
  log,
  dryRuns,
  sets,
  read,
  deadlineMs = 120_000,
  everyMs = 500,
}: RunDependencies): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  const { signal } = stopping;
  const retry = createRetry(log);
  const runner = randomUUID();
  const turns = createFairShare();

  async function readWithin(dryRun: TakenDryRun): Promise<DryRead> {
    const deadline = AbortSignal.timeout(deadlineMs);
    if (dryRun.tries > MAX_TRIES) return failed('internal_error');
    try {
      return await read(dryRun.job, AbortSignal.any([signal, deadline]));
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.aborted) return failed('storage_unavailable');
      log.error({ err: error, dry_run: dryRun._id }, 'a dry run failed');
      return failed('internal_error');
    }
  }

  function statusOf({ errors, files }: DryRead): JobStatus {
    return errors || files.some(({ failure }) => failure) ? JobStatus.error : JobStatus.done;
  }

  /** Runs after the examples are stored: a concurrent deletion either finds them stored, or we find its devices suppressed. */
  async function eraseSuppressed({ partner }: TakenDryRun, { files }: DryRead): Promise<void> {
    const rows = files.flatMap(({ examples }) => examples);
    const identifiers = [...new Set(rows.flatMap(({ raw }) => identifiersIn(raw)))];
    if (identifiers.length === 0) return;
    const suppressed = await sets.suppressedIdentifiers(partner, identifiers);
    if (suppressed.size > 0) await dryRuns.erase((identifier) => suppressed.has(identifier), partner);
  }

  async function run(dryRun: TakenDryRun): Promise<void> {
    const result = await readWithin(dryRun);
    await retry('store a dry run', () => dryRuns.keep(dryRun, result), signal);
    await retry('look for suppressed devices', () => eraseSuppressed(dryRun, result), signal);
    await retry('end a dry run', () => dryRuns.end(dryRun, statusOf(result)), signal);
    log.info({ dry_run: dryRun._id, files: result.files.length }, 'dry run ended');
  }

  /** A failed run is taken again when its lease expires. */
  function start(dryRun: TakenDryRun): void {
    const task = run(dryRun).catch((error) => {
      if (!signal.aborted) log.error({ err: error, dry_run: dryRun._id }, 'a dry run was given up');
    });
    running.set(task, dryRun.partner);
    void task.then(() => running.delete(task));
  }

  function busyPartners(): string[] {
    const counts = new Map<string, number>();
    for (const partner of running.values()) counts.set(partner, (counts.get(partner) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= AT_ONCE_PER_PARTNER).map(([partner]) => partner);
  }

  async function take(): Promise<TakenDryRun | null> {
    const partner = turns.takeTurn(await dryRuns.waiting(busyPartners()));
    // Longer than a run may take: when the lease expires, its holder has died.
    return partner === undefined ? null : dryRuns.take(partner, runner, deadlineMs + 30_000);
  }

  async function takeUntilStopped(): Promise<void> {
    while (!signal.aborted) {
      const taken = running.size < AT_ONCE ? await retry('take a dry run', take, signal) : null;
      if (taken) start(taken);
      else await sleep(everyMs, undefined, { signal, ref: false });
    }
  }

  const running = new Map<Promise<void>, string>();
  const taking = takeUntilStopped().catch((error) => {
    if (!signal.aborted) log.error({ err: error }, 'this thread takes no more dry runs');
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all([taking, ...running.keys()]);
    },
  };
}
