/** The store of jobs, and the only access to them. */
import type { Db } from 'mongodb';
import { createJobReads } from './job-reads.ts';
import { createJobRecords } from './job-records.ts';
import { createJobRequests } from './job-requests.ts';
import { createJobTransitions } from './job-transitions.ts';
import { createNewJobs } from './new-jobs.ts';

export { isUndecided, isUnfinished, laneOf } from './job-collection.ts';
export type { EndedJob } from './job-reads.ts';
export { frozen, type ListedJob, type OpenLoad } from './job-records.ts';
export type { Decision, JobDecision, JobOutcome } from './job-transitions.ts';

export type JobStore = ReturnType<typeof createJobStore>;

export const createJobStore = (db: Db) => ({
  ...createNewJobs(db),
  ...createJobTransitions(db),
  ...createJobRequests(db),
  ...createJobReads(db),
  ...createJobRecords(db),
});
