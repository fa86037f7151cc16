/** The progress of a job in words, and as the fraction of a bar. */

import { count, duration, plural } from './format.ts';
import type { Progress } from './types.ts';

export function phaseText({ phase, jobs_ahead }: Pick<Progress, 'phase' | 'jobs_ahead'>): string {
  switch (phase) {
    case 'waiting':
      return jobs_ahead > 0
        ? `Waiting: ${plural(jobs_ahead, 'job')} ahead in the queue`
        : 'Waiting: next in the queue';
    case 'listing':
      return 'Listing files';
    case 'loading':
      return 'Loading files';
    case 'merging':
      return 'Merging devices';
    case 'done':
      return 'Done';
    case 'failed':
      return 'Failed';
  }
}

/** null: the total is not known yet. */
export function fractionDone({ phase, bytes, bytes_done, files, files_done }: Progress): number | null {
  if (phase === 'done' || phase === 'failed') return 1;
  if (phase === 'waiting' || phase === 'listing') return null;
  if (bytes) return Math.min(1, bytes_done / bytes);
  return files ? Math.min(1, files_done / files) : null;
}

export function workText({ files, files_done, rows, rows_per_second }: Progress): string {
  const parts: string[] = [];
  if (files !== null) parts.push(`${count(files_done)} of ${plural(files, 'file')}`);
  if (rows > 0) parts.push(plural(rows, 'row'));
  if (rows_per_second) parts.push(`${count(Math.round(rows_per_second))} rows/s`);
  return parts.join(' · ');
}

export function remainingText({ estimated_end_at }: Pick<Progress, 'estimated_end_at'>, now: number): string {
  if (estimated_end_at === null) return '';
  const seconds = (Date.parse(estimated_end_at) - now) / 1000;
  return seconds < 2 ? 'a moment left' : `about ${duration(seconds)} left`;
}
