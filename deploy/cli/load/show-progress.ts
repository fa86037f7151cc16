/** Progress of a load test: one live line on a terminal, a line every ten seconds elsewhere. */

import { bytes, count, duration, plural } from '../../../api/client/format.ts';
import { isInteractive } from '../../../pipeline/runtime/terminal.ts';
import type { CommandContext } from '../partner/run-command.ts';
import { bar, joined } from '../progress-line.ts';
import type { LoadPlan } from './options.ts';
import type { RampStep } from './ramp.ts';
import type { Sample } from './watch-queue.ts';

const EVERY_MS = 10_000;
/** Window of the displayed speed. */
const WINDOW_S = 10;

const leftText = (left: number, perSecond: number) =>
  perSecond > 0 && left > 0 ? `about ${duration(left / perSecond)} left` : '';

const stepText = ({ rate, backlog_before, backlog_after, held }: RampStep): string =>
  `${rate} jobs/s ${held ? 'holds' : 'does not hold'}: backlog ${backlog_before.toFixed(1)}, then ${backlog_after.toFixed(1)} jobs`;

export function showProgress({ progress, say }: Pick<CommandContext, 'progress' | 'say'>, plan: LoadPlan) {
  const since = performance.now();
  const isLive = isInteractive(process.stderr);
  const recent: Sample[] = [];
  let saidAt = since;
  let sent = { files: 0, bytes: 0 };

  function show(line: string): void {
    if (isLive) {
      progress.show(line);
    } else if (performance.now() - saidAt >= EVERY_MS) {
      saidAt = performance.now();
      say(line);
    }
  }

  /** A ramp has no fixed number of jobs. */
  const totalRows = plan.ramp ? null : plan.jobs * plan.files * plan.rows;

  return {
    file(size: number): void {
      sent = { files: sent.files + 1, bytes: sent.bytes + size };
      const total = plan.jobs * plan.files;
      const perSecond = (sent.files * 1_000) / (performance.now() - since);
      show(
        joined(
          `uploading  ${bar(sent.files / total)}`,
          `${count(sent.files)} of ${plural(total, 'file')}`,
          bytes(sent.bytes),
          leftText(total - sent.files, perSecond),
        ),
      );
    },
    uploaded: () => sent,

    sample(sample: Sample): void {
      recent.push(sample);
      while (recent.length > 2 && recent[0]!.at < sample.at - WINDOW_S) recent.shift();
      const first = recent[0]!;
      const perSecond = Math.max(0, (sample.rows - first.rows) / (sample.at - first.at || 1));
      const fraction = totalRows === null ? null : Math.min(1, sample.rows / totalRows);
      show(
        joined(
          `loading  ${bar(fraction)}`.trimEnd(),
          plan.ramp ? plural(sample.ended, 'job') : `${count(sample.ended)} of ${plural(plan.jobs, 'job')}`,
          plural(sample.rows, 'row'),
          `${count(perSecond)} rows/s`,
          `${count(sample.queued)} queued`,
          `${count(sample.in_flight)} in flight`,
          totalRows === null ? '' : leftText(totalRows - sample.rows, perSecond),
        ),
      );
    },

    step(step: RampStep): void {
      progress.clear();
      say(stepText(step));
    },
    verified: (jobs: number, total: number) =>
      show(`verifying  ${bar(jobs / total)} · ${plural(jobs, 'job')}`),
    deleted: (files: number) =>
      show(`deleting  ${bar(Math.min(1, files / sent.files))} · ${plural(files, 'file')}`),
    line(text: string): void {
      progress.clear();
      say(text);
    },
    clear: () => progress.clear(),
  };
}
