/**
 * The coordinator of two-phase commit: asks the slots for their votes (prepare), sends them the decision (commit), and waits until every
 * slot has acknowledged. A marker without a response is resent, in order, because a partition may have lost it.
 */

import type { JobDocument, JobVerdict } from '../../../../schemas/job-documents.ts';
import type { JobMarker } from '../../../../schemas/topics.ts';
import { unpackTotals } from '../../../formats/slot-totals.ts';
import type { OutgoingMessage, Publisher } from '../../../kafka/publish.ts';
import { groupBy } from '../../../runtime/collections.ts';
import type { AckStore } from '../../../stores/acks.ts';
import type { JobStore } from '../../../stores/jobs/jobs.ts';
import type { VoteStore } from '../../../stores/votes.ts';
import { encode } from '../../../wire/codec.ts';
import type { DispatchStep } from '../steps.ts';

export interface SlotDependencies {
  publisher: Publisher;
  jobs: JobStore;
  acks: AckStore;
  votes: VoteStore;
  slots: number;
  devicePartitions: number;
  /** A marker without a response is resent after this long. */
  stallMs: number;
  laneOf(job: JobDocument): string;
  /** All jobs below this number have ended. */
  endedBefore(): number;
}

interface Waiting {
  job: JobDocument;
  /** Encodes it with the current predecessors and the current `ended_before`. */
  marker(): Buffer;
  /** When the marker is resent, and the interval after that. */
  due: number;
  pauseMs: number;
  /** `missing`: slots that miss devices. Empty: all slots hold the job, or have merged it. */
  resolve(missing: number[]): void;
  reject(error: SinkFailed): void;
}

/** A sink failed repeatedly to vote on the job or to commit it. */
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
/** What is rare after a decision, a slot that misses devices or another dispatcher that ends the job, is looked for this often. */
const LOOK_FOR_RARE_MS = 1_000;

export type SlotCoordinator = ReturnType<typeof createSlotCoordinator>;

export function createSlotCoordinator(deps: SlotDependencies, step: DispatchStep, wake: () => void) {
  const { publisher, jobs, acks, votes } = deps;
  const preparing = new Map<number, Waiting>();
  const committing = new Map<number, Waiting>();
  /** By lane, in order: jobs sent for commit and not acknowledged, each with its predecessors. */
  const unmerged = new Map<string, Map<number, { job: JobDocument; after: number[] }>>();
  let lookedForRare = 0;

  function encodeMarker(job: JobDocument, verdict: JobVerdict, request: JobMarker['request']): Buffer {
    const lane = unmerged.get(deps.laneOf(job));
    return encode('JobMarker', {
      job: job._id,
      kind: job.kind,
      partner: job.partner,
      request,
      attempt: job.attempt ?? 0,
      passed: verdict.passed,
      collapsed: verdict.collapsed,
      verdict: verdict.stored ?? '',
      files_counted: verdict.filesCounted ?? false,
      // A deletion that failed or was cancelled removes nothing.
      attributes: (!job.errors && job.attributes) || [],
      privacy: job.privacy ?? '',
      audience: job.audience,
      generation: job.generation,
      expected: unpackTotals(verdict.expected.buffer),
      // Without acknowledged jobs, which a new owner of the partition need not know.
      after: lane?.get(job._id)?.after.filter((other) => lane.has(other)) ?? [],
      ended_before: deps.endedBefore(),
    });
  }
  const decisionOf = (job: JobDocument) =>
    encodeMarker(job, job.verdict!, job.dropRequested ? 'drop' : 'commit');

  /**
   * Adds a job to its lane and finds its predecessors there. A load is matched against exactly the imports before it; loads of different
   * audiences are independent. Everything before the first job of this dispatcher is merged.
   */
  function line(job: JobDocument): void {
    const name = deps.laneOf(job);
    const lane = unmerged.get(name) ?? new Map();
    unmerged.set(name, lane);
    if (lane.has(job._id)) return;
    const after: number[] = [];
    for (const { job: other } of [...lane.values()].reverse()) {
      if (job.audience === null || other.audience === null || other.audience === job.audience)
        after.push(other._id);
      // That job itself follows all earlier ones.
      if (other.audience === null) break;
    }
    lane.set(job._id, { job, after });
  }

  async function send(name: 'prepare' | 'commit', due: Pick<Waiting, 'job' | 'marker'>[]): Promise<void> {
    const messages = due.flatMap(({ job, marker }) => {
      const value = marker();
      return Array.from({ length: deps.devicePartitions }, (_, partition): OutgoingMessage => {
        return { partition, key: `job ${job._id}`, value };
      });
    });
    if (messages.length > 0) await step(name, () => publisher.send('devices', messages));
  }

  function wait(among: Map<number, Waiting>, job: JobDocument, marker: () => Buffer): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const pauseMs = deps.stallMs;
      among.set(job._id, { job, marker, due: performance.now() + pauseMs, pauseMs, resolve, reject });
      wake();
    });
  }

  function settle(among: Map<number, Waiting>, job: number, missing: number[]): void {
    among.get(job)?.resolve(missing);
    among.delete(job);
  }

  function fail(job: JobDocument, reason: string): void {
    for (const among of [preparing, committing]) {
      among.get(job._id)?.reject(new SinkFailed(job, reason));
      among.delete(job._id);
    }
  }

  /** Slots merge the jobs of a lane in order and ignored markers that came too early: resend them now. */
  function resendSoon(): void {
    for (const waiting of committing.values()) {
      if (waiting.pauseMs === deps.stallMs) continue;
      waiting.pauseMs = deps.stallMs;
      waiting.due = performance.now();
    }
  }

  /** Reads votes; with `rare`, including those that report missing devices at the commit. */
  async function lookAtVotes(rare: boolean): Promise<boolean> {
    const alsoOn = rare ? [...committing.keys()] : [];
    if (preparing.size + alsoOn.length === 0) return false;
    const found = await step.read('read the votes', () => votes.votesOn([...preparing.keys()], alsoOn));
    let changed = false;
    for (const [job, all] of groupBy(found, (vote) => vote.job)) {
      const waiting = preparing.get(job) ?? committing.get(job);
      // Already settled by its acks.
      if (!waiting) continue;
      const own = all.filter(({ attempt }) => attempt === (waiting.job.attempt ?? 0));
      const missing = own.flatMap((vote) => vote.missing);
      const failure = own.find((vote) => vote.failure !== undefined)?.failure;
      if (failure !== undefined) {
        fail(waiting.job, failure);
        changed = true;
        continue;
      }
      const hasAllVotes = preparing.has(job) && own.length === deps.devicePartitions;
      if (!hasAllVotes && (preparing.has(job) || missing.length === 0)) continue;
      settle(preparing, job, missing);
      settle(committing, job, missing);
      changed = true;
    }
    return changed;
  }

  async function lookAtAcks(rare: boolean): Promise<boolean> {
    if (committing.size === 0) return false;
    const ids = [...committing.keys()];
    const counts = await step.read('count acks', () => acks.countByJob(ids));
    const committed = ids.filter((job) => counts.get(job) === deps.slots);
    for (const job of committed) settle(committing, job, []);
    if (committed.length > 0) resendSoon();
    if (committed.length > 0 || !rare) return committed.length > 0;
    // Another dispatcher may have ended the jobs and removed their acks.
    const ended = await step.read('look for ended jobs', () => jobs.endedAmong([...committing.keys()]));
    for (const job of ended) settle(committing, job, []);
    return ended.size > 0;
  }

  async function sendAgain(): Promise<void> {
    const now = performance.now();
    for (const [name, among] of [
      ['prepare', preparing],
      ['commit', committing],
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
    /** Resolves when every slot has voted, with the slots that miss devices. */
    async prepare(job: JobDocument, verdict: JobVerdict): Promise<number[]> {
      const marker = () => encodeMarker(job, verdict, 'prepare');
      await send('prepare', [{ job, marker }]);
      return wait(preparing, job, marker);
    },

    /** Sends the commit markers of jobs; jobs of a lane must be in order. */
    async commit(decided: JobDocument[]): Promise<void> {
      for (const job of decided) line(job);
      await send(
        'commit',
        decided.map((job) => ({ job, marker: () => decisionOf(job) })),
      );
    },

    /** Resolves when every slot has acknowledged the job, or earlier with the slots that miss devices. */
    async acknowledged(job: JobDocument): Promise<number[]> {
      const missing = await wait(committing, job, () => decisionOf(job));
      if (missing.length > 0) return missing;
      const name = deps.laneOf(job);
      unmerged.get(name)?.delete(job._id);
      if (unmerged.get(name)?.size === 0) unmerged.delete(name);
      return [];
    },

    isNeeded: () => preparing.size + committing.size > 0,
    async look(): Promise<boolean> {
      const rare = performance.now() - lookedForRare >= LOOK_FOR_RARE_MS;
      if (rare) lookedForRare = performance.now();
      const changed = await Promise.all([lookAtVotes(rare), lookAtAcks(rare)]);
      await sendAgain();
      return changed.some(Boolean);
    },
  };
}
