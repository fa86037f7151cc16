/** What a job in flight gets from its term: its place in its lane, and the services shared by all jobs of the term. */
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { Decision } from '../../stores/jobs/jobs.ts';
import type { SlotCoordinator } from './commit/coordinate-slots.ts';
import type { Ending } from './commit/end-jobs.ts';
import type { FileLoader } from './load/load-files.ts';
import type { ReadAhead } from './load/read-ahead.ts';
import type { Sequencer } from './sequencer.ts';
import type { DispatchStep } from './steps.ts';

/** A job that every slot has voted for, with the decision to store; or a job already decided. */
export interface ReadyJob {
  job: JobDocument;
  outcome?: Decision;
}

/** The job could not be decided: it is being cancelled, or another dispatcher has started its next attempt. */
export class NotDecided extends Error {
  constructor(readonly job: JobDocument) {
    super(`job ${job._id} was not decided`);
    this.name = 'NotDecided';
  }
}

/** Where jobs wait for earlier jobs of their lane. */
export interface Gates {
  /** Decides a job and sends its commit marker. Null: it has ended. Rejects with NotDecided. */
  commits: Sequencer<ReadyJob | null, JobDocument | null>;
  /** Ends a job. Null: it had already ended. */
  ends: Sequencer<Ending | null, JobDocument | null>;
}

/** A job's place in its lane. */
export interface Place {
  gates: Gates;
  /** Its number at the gates. */
  number: number;
  /** Resolves when the previous job of the same audience has ended. */
  earlierLoad: Promise<void> | undefined;
}

export interface Turns {
  step: DispatchStep;
  files: FileLoader;
  slots: SlotCoordinator;
  readAhead: ReadAhead;
  /** Whether an earlier dispatcher may have started the job. */
  mayBeListed(job: number): boolean;
}

export type OwnTurns = Turns & Place;
