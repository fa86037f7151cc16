/**
 * Lanes: the jobs of a partner (or of all partners, if the service has one order) commit and end in order; jobs of different lanes do not
 * wait for each other. The first job of each lane is admitted at once; while the window has room, further jobs are admitted in the lane
 * with the fewest in flight.
 */
import type { JobDocument } from '../../../../schemas/job-documents.ts';
import type { Gates, Place } from '../turns.ts';

export type WaitingJob = Pick<JobDocument, '_id' | 'audience'>;

interface Lane {
  gates: Gates;
  /** In order. */
  waiting: WaitingJob[];
  inFlight: Set<number>;
  /** The last load of each audience in flight. */
  lastLoad: Map<number, Promise<void>>;
  /** Next number at the gates. */
  next: number;
}

interface Term<Job> {
  /** Maximum jobs in flight. Up to as many more are admitted as the first of their lane. */
  jobWindow: number;
  createGates(): Gates;
  /** Resolves when the job has ended. Never rejects. `admitted`: the job as just read, unless it has waited. */
  run(job: number, place: Place, admitted?: Job): Promise<void>;
  onEnded(job: number): void;
}

export function createLanes<Job extends WaitingJob>({ jobWindow, createGates, run, onEnded }: Term<Job>) {
  const lanes = new Map<string, Lane>();
  /** Lanes with jobs, least recently served first. */
  const busy = new Set<Lane>();
  const laneOf = new Map<number, Lane>();
  let inFlight = 0;

  function open(name: string): Lane {
    const known = lanes.get(name);
    if (known) return known;
    const lane = {
      gates: createGates(),
      waiting: [],
      inFlight: new Set<number>(),
      lastLoad: new Map(),
      next: 0,
    };
    lanes.set(name, lane);
    return lane;
  }

  function nextLane(): Lane | undefined {
    const mayBe = inFlight < jobWindow ? Number.POSITIVE_INFINITY : inFlight < 2 * jobWindow ? 1 : 0;
    let next: Lane | undefined;
    for (const lane of busy) {
      if (lane.waiting.length === 0 || lane.inFlight.size >= mayBe) continue;
      if (!next || lane.inFlight.size < next.inFlight.size) next = lane;
    }
    return next;
  }

  function admit(added?: Job): void {
    for (let lane = nextLane(); lane; lane = nextLane()) {
      busy.delete(lane);
      busy.add(lane);
      const next = lane.waiting.shift()!;
      start(lane, next, next._id === added?._id ? added : undefined);
    }
  }

  function start(lane: Lane, { _id, audience }: WaitingJob, admitted?: Job): void {
    const { gates, lastLoad } = lane;
    lane.inFlight.add(_id);
    laneOf.set(_id, lane);
    inFlight++;
    const earlierLoad = audience === null ? undefined : lastLoad.get(audience);
    const ended = run(_id, { gates, number: lane.next++, earlierLoad }, admitted).then(() => {
      lane.inFlight.delete(_id);
      laneOf.delete(_id);
      inFlight--;
      if (audience !== null && lastLoad.get(audience) === ended) lastLoad.delete(audience);
      if (lane.waiting.length + lane.inFlight.size === 0) busy.delete(lane);
      onEnded(_id);
      admit();
    });
    if (audience !== null) lastLoad.set(audience, ended);
  }

  return {
    /** Call it in order. */
    add(name: string, job: Job): void {
      const lane = open(name);
      const { _id, audience } = job;
      lane.waiting.push({ _id, audience });
      busy.add(lane);
      admit(job);
    },

    /** Whether the job is in flight and the first of its lane. */
    isFirst: (job: number): boolean => laneOf.get(job)?.inFlight.values().next().value === job,

    /** The oldest unfinished job. */
    oldest(): number | undefined {
      let oldest: number | undefined;
      for (const { inFlight, waiting } of busy) {
        const first = inFlight.values().next().value ?? waiting[0]!._id;
        if (oldest === undefined || first < oldest) oldest = first;
      }
      return oldest;
    },
  };
}
