/** Publishes the status of jobs. The end of a job is published at least once: until then its document is marked. */

import type { JobDocument } from '../../../schemas/job-documents.ts';
import type { Publisher } from '../../kafka/publish.ts';
import type { Logger } from '../../runtime/log.ts';
import type { JobStore } from '../../stores/jobs/jobs.ts';
import { encode } from '../../wire/codec.ts';
import type { DispatchStep } from './steps.ts';

interface Dependencies {
  log: Logger;
  publisher: Publisher;
  jobs: JobStore;
  /** Called once per job, unless the process dies first. */
  onEnded(job: JobDocument): void;
}

export type StatusPublisher = ReturnType<typeof createStatusPublisher>;

export function createStatusPublisher({ log, publisher, jobs, onEnded }: Dependencies) {
  async function publish(job: JobDocument, step: DispatchStep): Promise<void> {
    const value = encode('JobStatusChanged', {
      job: job._id,
      kind: job.kind,
      partner: job.partner,
      status: job.status,
      files: job.fileCount,
      files_done: job.filesDone,
      rows: job.rows,
      unique_devices: job.uniqueDevices,
      audience: job.audience,
      errors: (job.errors ?? []).map(({ code }) => code),
      updated_at: job.updatedAt.getTime(),
    });
    await step('status', () => publisher.send('status', [{ partition: 0, key: String(job._id), value }]));
  }

  async function publishEnd(job: JobDocument, step: DispatchStep): Promise<void> {
    onEnded(job);
    await publish(job, step);
    jobs
      .statusPublished(job._id)
      .catch((error) =>
        log.debug({ err: error }, 'publishing a job status failed: it is published again later'),
      );
  }

  return {
    publish,
    publishEnd,
    /** Publishes ends that an earlier term stored but did not publish. */
    async publishMissed(step: DispatchStep): Promise<void> {
      const missed = await step.read('find ends to publish', () => jobs.statusUnpublished());
      for (const job of missed) await publishEnd(job, step);
    },
  };
}
