/** The progress of a job. Like http-answers.ts: describes the responses, and tests validate against it. */
import { z } from 'zod';
import { count, created, described, statusOf, time } from './http-answers.ts';

export const progress = z
  .strictObject({
    phase: described(
      z.enum(['waiting', 'listing', 'loading', 'merging', 'done', 'failed']),
      'waiting: behind earlier jobs; listing: its files are being listed; loading: its files are being read; merging: all files were read, and their devices are stored after those of the jobs ahead; done; failed.',
      'loading',
    ),
    status: statusOf('The status of the job.'),
    jobs_ahead: described(
      count,
      'Your unfinished jobs that were accepted earlier: your jobs end in the order of acceptance. Jobs of other partners count only on a service with one order for all (`HEADRACE_ORDER=service`).',
      0,
    ),
    files: described(count.nullable(), 'The number of files; null until they are listed.', 8),
    files_done: described(count, 'The number of these files that have been processed.', 5),
    rows: described(
      count,
      'Data rows read so far; for a deletion, device-attribute pairs removed. Rows of a file that fails before its end are subtracted when all files are read.',
      2_600_000,
    ),
    bytes: described(
      count.nullable(),
      'Bytes of all files as stored; null until they are listed.',
      160_000_000,
    ),
    bytes_done: described(
      count,
      'How many of these bytes were read. For a compressed file that is being read, an estimate from those read before it, and 0 without any.',
      104_000_000,
    ),
    rows_per_second: described(
      count.nullable(),
      'The average since `started_at`; null while there is none.',
      410_000,
    ),
    created_at: created,
    listing_at: described(
      time.nullable(),
      'When the service began to list its files; null until they are listed, and if it has none.',
    ),
    started_at: described(time.nullable(), 'When its files were listed; null until then.'),
    loaded_at: described(time.nullable(), 'When all of its files had been read; null until then.'),
    ended_at: described(time.nullable(), 'When it ended; null until then.'),
    estimated_end_at: described(
      time.nullable(),
      'When it will have been read at the speed so far; null while jobs are ahead of it, and while it is not loading.',
    ),
  })
  .meta({ id: 'Progress' });
