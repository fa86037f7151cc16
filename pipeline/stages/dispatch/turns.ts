/** What a job in flight gets from its term: where it waits for other jobs, and the services that all jobs of the term share. */
import type { JobDocument } from '../../../schemas/documents.ts';
import type { SlotCoordinator } from './commit/coordinate-slots.ts';
import type { Ending } from './commit/end-jobs.ts';
import type { FileLoader } from './load/load-files.ts';
import type { ReadAhead } from './load/read-ahead.ts';
import type { Sequencer } from './sequencer.ts';
import type { DispatchStep } from './steps.ts';

/** Where jobs wait for those before them: all jobs at the same, deferred ones at those of their space. */
export interface Gates {
  /** Tells the slots to commit a decided job. Null: there is nothing to commit. */
  commits: Sequencer<JobDocument | null, void>;
  /** Ends a job. Null: it had ended before. */
  ends: Sequencer<Ending | null, JobDocument | null>;
}

export interface Turns {
  step: DispatchStep;
  gates: Gates;
  files: FileLoader;
  slots: SlotCoordinator;
  readAhead: ReadAhead;
  /** Whether an earlier dispatcher may have begun with the job. */
  mayBeListed(job: number): boolean;
  /** A job was stopped: the term is over, and the next one defers the jobs behind it. */
  onStopped(): void;
}

export interface OwnTurns extends Turns {
  /** The job's number at the gates. */
  number: number;
  /** Resolves when the job before this one of the same audience has ended: what it loaded is not loaded again. */
  earlierLoad: Promise<void> | undefined;
}
