/**
 * Talks with the slots about jobs: asks whether each holds all of a job, tells them to merge it, and sees when every slot has
 * done so. Markers that nobody answers are sent again, in their order: a partition may have lost them.
 */

import { type JobDocument, type JobVerdict, spaces } from '../../../schemas/documents.ts';
import { unpackTotals } from '../../formats/slot-totals.ts';
import type { OutgoingMessage, Publisher } from '../../kafka/publish.ts';
import { groupBy } from '../../runtime/group-by.ts';
import type { Step } from '../../runtime/step.ts';
import type { AckStore } from '../../stores/acks.ts';
import type { CheckStore } from '../../stores/checks.ts';
import type { JobStore } from '../../stores/jobs.ts';
import { encode } from '../../wire/codec.ts';

export interface SlotDependencies {
  publisher: Publisher;
  jobs: JobStore;
  acks: AckStore;
  checks: CheckStore;
  slots: number;
  devicePartitions: number;
  /** How long markers may go without an answer before they are sent again. */
  stallMs: number;
}

interface Waiting {
  job: JobDocument;
  marker: Buffer;
  /** When the marker is sent again, and how long after that. */
  due: number;
  pauseMs: number;
  /** Slots that lack something; none: all hold the job, or all have merged it. */
  resolve(lacking: number[]): void;
  reject(error: SinkFailed): void;
}

/** A sink has failed to check or to merge the job, again and again. */
export class SinkFailed extends Error {
  constructor(
    readonly job: JobDocument,
    reason: string,
  ) {
    super(reason);
    this.name = 'SinkFailed';
  }
}

const MAX_RESEND_MS = 60_000;
const ENDED_MS = 1_000;

export type SlotWatch = ReturnType<typeof createSlotWatch>;

export function createSlotWatch(deps: SlotDependencies, step: Step<'dispatch'>, wake: () => void) {
  const { publisher, jobs, acks, checks } = deps;
  const checking = new Map<number, Waiting>();
  const merging = new Map<number, Waiting>();
  /**
   * Which job is merged before each, of all and of its space. What comes before the first of this dispatcher has been merged by every
   * slot, or is deferred. A deferred job waits only for those of its space, and only they wait for it.
   */
  const before = new Map<number, { previous: number; after: number }>();
  let lastMarked = 0;
  const lastInSpace = new Map<string, number>();
  let lookedForEnded = 0;

  function encodeMarker(job: JobDocument, verdict: JobVerdict, check: boolean): Buffer {
    return encode('CommitMarker', {
      job: job._id,
      kind: job.kind,
      check,
      passed: verdict.passed,
      collapsed: verdict.collapsed,
      verdict: verdict.stored ?? '',
      files_counted: verdict.filesCounted ?? false,
      // A deletion that failed or was cancelled removes nothing.
      attributes: (!job.errors && job.attributes) || [],
      audience: job.audience,
      generation: job.generation,
      attempt: job.attempt ?? 0,
      expected: unpackTotals(verdict.expected.buffer),
      ...((!check && before.get(job._id)) || { previous: 0, after: 0 }),
      drop: job.dropRequested ?? false,
    });
  }

  function line(job: JobDocument): void {
    const space = spaces.of(job);
    const after = lastInSpace.get(space) ?? 0;
    before.set(job._id, { previous: job.deferred ? 0 : lastMarked, after });
    lastInSpace.set(space, job._id);
    if (!job.deferred) lastMarked = job._id;
  }

  async function send(name: 'check' | 'markers', waiting: Pick<Waiting, 'job' | 'marker'>[]): Promise<void> {
    const messages = waiting.flatMap(({ job, marker }) =>
      Array.from({ length: deps.devicePartitions }, (_, partition): OutgoingMessage => {
        return { partition, key: `job ${job._id}`, value: marker };
      }),
    );
    if (messages.length > 0) await step(name, () => publisher.send('devices', messages));
  }

  function wait(among: Map<number, Waiting>, job: JobDocument, marker: Buffer): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const pauseMs = deps.stallMs;
      among.set(job._id, { job, marker, due: performance.now() + pauseMs, pauseMs, resolve, reject });
      wake();
    });
  }

  function settle(among: Map<number, Waiting>, job: number, lacking: number[]): void {
    among.get(job)?.resolve(lacking);
    among.delete(job);
  }

  function fail(job: JobDocument, reason: string): void {
    for (const among of [checking, merging]) {
      among.get(job._id)?.reject(new SinkFailed(job, reason));
      among.delete(job._id);
    }
  }

  /** Slots merge in the order of jobs: markers that came too early were dropped, and are wanted now. */
  function hurry(): void {
    for (const waiting of merging.values()) {
      if (waiting.pauseMs === deps.stallMs) continue;
      waiting.pauseMs = deps.stallMs;
      waiting.due = performance.now();
    }
  }

  /** The answers to checks, and what a sink found lacking when it was told to merge. */
  async function lookAtChecks(): Promise<boolean> {
    if (checking.size + merging.size === 0) return false;
    const ask = () => checks.answersTo([...checking.keys()], [...merging.keys()]);
    const answers = await step.read('read the checks', ask);
    let changed = false;
    for (const [job, all] of groupBy(answers, (answer) => answer.job)) {
      const waiting = checking.get(job) ?? merging.get(job);
      // Settled by its acks meanwhile.
      if (!waiting) continue;
      const own = all.filter(({ attempt }) => attempt === (waiting.job.attempt ?? 0));
      const lacking = own.flatMap((answer) => answer.lacking);
      const failure = own.find((answer) => answer.failure !== undefined)?.failure;
      if (failure !== undefined) {
        fail(waiting.job, failure);
        changed = true;
        continue;
      }
      const isAnswered = checking.has(job) && own.length === deps.devicePartitions;
      if (!isAnswered && (checking.has(job) || lacking.length === 0)) continue;
      settle(checking, job, lacking);
      settle(merging, job, lacking);
      changed = true;
    }
    return changed;
  }

  async function lookAtAcks(): Promise<boolean> {
    if (merging.size === 0) return false;
    const ids = [...merging.keys()];
    const counts = await step.read('count acks', () => acks.countByJob(ids));
    const merged = ids.filter((job) => counts.get(job) === deps.slots);
    for (const job of merged) settle(merging, job, []);
    if (merged.length > 0) hurry();
    if (merged.length > 0 || performance.now() - lookedForEnded < ENDED_MS) return merged.length > 0;
    // A predecessor may have ended them, and cleared their acks.
    lookedForEnded = performance.now();
    const ended = await step.read('look for ended jobs', () => jobs.endedAmong([...merging.keys()]));
    for (const job of ended) settle(merging, job, []);
    return ended.size > 0;
  }

  async function sendAgain(): Promise<void> {
    const now = performance.now();
    for (const [name, among] of [
      ['check', checking],
      ['markers', merging],
    ] as const) {
      const late = [...among.values()].filter(({ due }) => due <= now);
      for (const waiting of late) {
        waiting.pauseMs = Math.min(MAX_RESEND_MS, waiting.pauseMs * 2);
        waiting.due = now + waiting.pauseMs;
      }
      await send(
        name,
        late.sort((a, b) => a.job._id - b.job._id),
      );
    }
  }

  return {
    /** Asks every slot whether it holds all of the job. Gives those that do not. */
    async check(job: JobDocument, verdict: JobVerdict): Promise<number[]> {
      const marker = encodeMarker(job, verdict, true);
      await send('check', [{ job, marker }]);
      return wait(checking, job, marker);
    },

    /** Tells the slots to merge the jobs, in their order; null for one that ended without. */
    async mark(some: (JobDocument | null)[]): Promise<undefined> {
      const told = some.filter((job) => job !== null);
      for (const job of told) if (!before.has(job._id)) line(job);
      await send(
        'markers',
        told.map((job) => ({ job, marker: encodeMarker(job, job.verdict!, false) })),
      );
    },

    /** Resolves when every slot has merged the marked job: with nothing, or with the slots that lack something of it. */
    async merged(job: JobDocument): Promise<number[]> {
      const lacking = await wait(merging, job, encodeMarker(job, job.verdict!, false));
      if (lacking.length > 0) return lacking;
      before.delete(job._id);
      if (lastInSpace.get(spaces.of(job)) === job._id) lastInSpace.delete(spaces.of(job));
      return [];
    },

    isNeeded: () => checking.size + merging.size > 0,
    async look(): Promise<boolean> {
      const changed = await Promise.all([lookAtChecks(), lookAtAcks()]);
      await sendAgain();
      return changed.some(Boolean);
    },
  };
}
