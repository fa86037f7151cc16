/** What a job in flight gets from its term: where it waits for other jobs of its lane, and the services that all jobs of the term share. */
import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { Decision } from '../../stores/jobs/jobs.ts';
import type { SlotCoordinator } from './commit/coordinate-slots.ts';
import type { Ending } from './commit/end-jobs.ts';
import type { FileLoader } from './load/load-files.ts';
import type { ReadAhead } from './load/read-ahead.ts';
import type { Sequencer } from './sequencer.ts';
import type { DispatchStep } from './steps.ts';

/** A job that every slot has voted for, and what is to be decided of it; or one that is decided already. */
export interface ReadyJob {
  job: JobDocument;
  outcome?: Decision;
}

/** The job could not be decided: it is to be cancelled, or another dispatcher has begun its next attempt. */
export class NotDecided extends Error {
  constructor(readonly job: JobDocument) {
    super(`job ${job._id} was not decided`);
    this.name = 'NotDecided';
  }
}

/** Where jobs wait for those before them in their lane. */
export interface Gates {
  /** Decides a job and tells the slots to commit it. Null: it has ended. Rejects with NotDecided. */
  commits: Sequencer<ReadyJob | null, JobDocument | null>;
  /** Ends a job. Null: it had ended before. */
  ends: Sequencer<Ending | null, JobDocument | null>;
}

/** A job's place in its lane. */
export interface Place {
  gates: Gates;
  /** Its number at the gates. */
  number: number;
  /** Resolves when the job before it of the same audience has ended. */
  earlierLoad: Promise<void> | undefined;
}

export interface Turns {
  step: DispatchStep;
  files: FileLoader;
  slots: SlotCoordinator;
  readAhead: ReadAhead;
  /** Whether an earlier dispatcher may have begun with the job. */
  mayBeListed(job: number): boolean;
}

export type OwnTurns = Turns & Place;
