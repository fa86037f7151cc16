/** Adds up the decided files of a job, in order. */
import { Binary } from 'mongodb';
import type { RejectCode } from '../../../../schemas/codes.ts';
import type { JobError } from '../../../../schemas/job-documents.ts';
import { noTotals, packTotals } from '../../../formats/slot-totals.ts';
import { isNumbered } from '../../../stores/event-values.ts';
import type { Decision } from '../../../stores/jobs/jobs.ts';
import type { JudgedFile } from '../load/loading-job.ts';

export const noneExpected = new Binary(packTotals(noTotals()));

/** The decision to merge nothing. */
export const nothing = (attempt = 0, errors: JobError[] | null = null): Decision => ({
  verdict: { passed: [], collapsed: [], attempt, expected: noneExpected },
  rows: 0,
  accepted: 0,
  rejected: {},
  filesDone: 0,
  errors,
});

/** More failed files than this are only counted. */
const MAX_ERRORS = 100;

export async function addUp(
  judged: Iterable<JudgedFile> | AsyncIterable<JudgedFile>,
  attempt: number,
): Promise<Decision> {
  const passed: number[] = [];
  const collapsed: number[] = [];
  const errors: JobError[] = [];
  let failed = 0;
  let hasEvents: true | undefined;
  const rejected: Decision['rejected'] = {};
  let rows = 0;
  let accepted = 0;
  let filesDone = 0;
  let filesCounted = true;
  for await (const file of judged) {
    filesDone++;
    rows += file.rows;
    accepted += file.accepted;
    for (const [code, count] of Object.entries(file.rejected) as [RejectCode, number][])
      rejected[code] = (rejected[code] ?? 0) + count;
    if (file.failure) {
      if (failed++ < MAX_ERRORS) errors.push({ ...file.failure, file: file.path });
      continue;
    }
    if (passed.length > 0 && passed.at(-1) === file.number - 1) passed[passed.length - 1] = file.number;
    else passed.push(file.number, file.number);
    filesCounted &&= typeof file.duplicates === 'number';
    if (file.eventsCollapsed) collapsed.push(file.number);
    if (file.events?.some(({ event }) => isNumbered(event))) hasEvents = true;
  }
  if (failed > MAX_ERRORS) {
    const message = `${failed - MAX_ERRORS} more files failed; see the job’s files.`;
    errors.push({ code: errors[0]!.code, message, count: failed - MAX_ERRORS });
  }
  return {
    verdict: {
      passed,
      collapsed,
      ...(filesCounted ? { filesCounted } : {}),
      attempt,
      hasEvents,
      expected: noneExpected,
    },
    rows,
    accepted,
    rejected,
    filesDone,
    errors: failed > 0 ? errors : null,
  };
}
