/**
 * Watches the service's progress with the jobs. Jobs end in order, so it is enough to poll the newest and the few oldest.
 */

import type { ApiClient } from '../../../api/client/client.ts';
import type { Progress } from '../../../api/client/types.ts';
import type { SubmittedJob } from './jobs.ts';
import type { Layout } from './layouts.ts';

/** As in the report. */
export interface Sample {
  /** Seconds since the first job was submitted. */
  at: number;
  /** Read so far. */
  rows: number;
  files: number;
  /** Unfinished jobs in the lane, up to the newest that this load test submitted. */
  queued: number;
  /** Submitted jobs that are being read or merged. */
  in_flight: number;
  ended: number;
}

const MAX_POLLED = 8;
/** Rides out a restart of the API. */
const MAX_LOST = 30;
const MAX_KEPT = 2_000;

const isEnded = ({ phase }: Progress) => phase === 'done' || phase === 'failed';

export type QueueWatch = ReturnType<typeof watchQueue>;

export function watchQueue(reading: ApiClient, layout: Layout) {
  const since = performance.now();
  /** Jobs not known to have ended, by id. */
  const open: SubmittedJob[] = [];
  const ended = { jobs: 0, rows: 0, files: 0 };
  let kept: Sample[] = [];
  let keepEvery = 1;
  let taken = 0;
  let last: Sample | undefined;

  const progressOf = async ({ id }: SubmittedJob): Promise<Progress> =>
    (await reading.get<Progress>(layout.progressPath(id), { maxLost: MAX_LOST })).data;

  function endOldest(count: number): void {
    for (const { expected } of open.splice(0, Math.max(0, count))) {
      ended.jobs++;
      ended.rows += expected.rows;
      ended.files += expected.files;
    }
  }

  async function countQueued(): Promise<number> {
    const newest = open.at(-1);
    const known = open.length;
    if (!newest) return 0;
    const progress = await progressOf(newest);
    const queued = isEnded(progress) ? 0 : progress.jobs_ahead + 1;
    endOldest(known - queued);
    return queued;
  }

  /** Finds submitted jobs that have ended although earlier jobs in the lane keep the queue long. */
  async function lookAtOldest() {
    const begun = { jobs: 0, rows: 0, files: 0 };
    let areEnded = true;
    for (const job of open.slice(0, MAX_POLLED)) {
      const progress = await progressOf(job);
      // The next sample counts an ended job behind an unfinished one.
      areEnded &&= isEnded(progress);
      if (areEnded) {
        endOldest(1);
      } else if (progress.files !== null) {
        begun.jobs++;
        begun.rows += progress.rows;
        begun.files += progress.files_done;
      }
    }
    return begun;
  }

  /** Thins out the samples of a long run evenly. */
  function keep(sample: Sample): void {
    last = sample;
    if (taken++ % keepEvery === 0) kept.push(sample);
    if (kept.length < MAX_KEPT) return;
    kept = kept.filter((_, n) => n % 2 === 0);
    keepEvery *= 2;
  }

  const seconds = () => (performance.now() - since) / 1_000;

  return {
    seconds,
    samples: (): Sample[] => (last && kept.at(-1) !== last ? [...kept, last] : kept),
    unfinished: () => open as readonly SubmittedJob[],

    /** Responses may arrive out of order. */
    add(job: SubmittedJob): void {
      const place = open.findLastIndex(({ id }) => id < job.id) + 1;
      open.splice(place, 0, job);
    },

    async sample(): Promise<Sample> {
      const queued = await countQueued();
      const begun = await lookAtOldest();
      const sample = {
        at: seconds(),
        rows: ended.rows + begun.rows,
        files: ended.files + begun.files,
        queued: open.length === 0 ? 0 : queued,
        in_flight: begun.jobs,
        ended: ended.jobs,
      };
      keep(sample);
      return sample;
    },
  };
}
