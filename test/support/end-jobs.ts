/** Ends jobs as dispatch does: with numbered ends. */
import type { ClientSession, Db } from 'mongodb';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { jobCollection } from '../../pipeline/stores/jobs/job-collection.ts';
import { type JobDocument, JobStatus } from '../../schemas/job-documents.ts';

const inTransaction = <T>(db: Db, work: (session: ClientSession) => Promise<T>) =>
  db.client.withSession((session) => session.withTransaction(() => work(session)));

async function numberEnds<T extends Pick<JobDocument, 'kind' | 'partner'>>(
  db: Db,
  jobs: T[],
  session: ClientSession,
) {
  const first = await createCounterStore(db).addEnds(jobs, session);
  return jobs.map((job, i) => ({ ...job, phase: 'ended' as const, endNumber: first + i }));
}

/** Stores jobs that have already ended, in this order. */
export const insertEnded = (db: Db, jobs: JobDocument[]) =>
  inTransaction(db, async (session) => {
    await jobCollection(db).insertMany(await numberEnds(db, jobs, session), { session });
  });

/** Ends stored jobs, in this order. */
export const endJobs = (db: Db, ids: number[], more: Partial<JobDocument> = {}) =>
  inTransaction(db, async (session) => {
    const jobs = await Promise.all(ids.map((_id) => jobCollection(db).findOne({ _id })));
    const ended = await numberEnds(db, jobs as JobDocument[], session);
    for (const { _id, phase, endNumber } of ended)
      await jobCollection(db).updateOne(
        { _id },
        { $set: { status: JobStatus.done, ...more, phase, endNumber } },
        { session },
      );
  });
