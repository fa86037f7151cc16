/** Sends the markers of sealed jobs: all devices of a job are in their partitions by now, and its marker stands behind them. */

import { encode } from '../../../schemas/codec.ts';
import type { JobDocument } from '../../../schemas/documents.ts';
import { faultPoint } from '../../runtime/fault-points.ts';
import type { Publisher } from '../../runtime/kafka.ts';
import type { Retry } from '../../runtime/retry.ts';

interface Dependencies {
  retry: Retry;
  publisher: Publisher;
  devicePartitions: number;
}

/** Jobs in their order; null for one that ended without. */
export function createMarkJobs({ retry, publisher, devicePartitions }: Dependencies) {
  return async (jobs: (JobDocument | null)[], signal: AbortSignal): Promise<undefined> => {
    const markers = jobs.filter((job) => job !== null).flatMap(markersOf);
    if (markers.length === 0) return;
    faultPoint('dispatch:before-markers');
    await retry('send the markers', () => publisher.send('devices', markers), signal);
    faultPoint('dispatch:after-markers');
  };

  function markersOf(job: JobDocument) {
    const value = encode('CommitMarker', {
      job: job._id,
      kind: job.kind,
      passed: job.verdict!.passed,
      collapsed: job.verdict!.collapsed,
      attributes: job.attributes ?? [],
      audience: job.audience,
      generation: job.generation,
    });
    return Array.from({ length: devicePartitions }, (_, partition) => ({
      partition,
      key: `job ${job._id}`,
      value,
    }));
  }
}
