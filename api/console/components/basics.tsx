/** Small parts that most pages use. */

import type { ComponentChildren } from 'preact';
import { age, count, exactTime, plural } from '../../client/format.ts';
import type { ApiProblem } from '../../client/problem.ts';
import type { ImportLogError, Status as Value } from '../../client/types.ts';
import { byRows, rejectExplanation, rejectReason, statusWords } from '../../client/words.ts';
import { useNow } from '../hooks.ts';

const classes: Record<Value, string> = { 0: 'pending', 1: 'running', 2: 'done', 3: 'failed' };

interface StatusProps {
  status: Value;
  /** Rows by reason; shown once the job has ended. */
  rejected?: Record<string, number> | null;
}

/** `Done, 93 rejected`. */
export function Status({ status, rejected }: StatusProps) {
  const rows = status < 2 ? 0 : Object.values(rejected ?? {}).reduce((sum, some) => sum + some, 0);
  return (
    <span class={`status status-${classes[status]}`}>
      {statusWords[status]}
      {rows > 0 && `, ${count(rows)} rejected`}
    </span>
  );
}

/** Reserves the space of loading rows, so that the layout does not jump. */
export function SkeletonRows({ rows }: { rows: number }) {
  return (
    <div class="skeleton-rows" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <span class="skeleton" key={row} />
      ))}
    </div>
  );
}

/** `3 minutes ago`, with the exact time on hover. */
export function Age({ time }: { time: string }) {
  const isFresh = Date.now() - Date.parse(time) < 60_000;
  const now = useNow(isFresh ? 1_000 : 15_000);
  return (
    <time dateTime={time} title={exactTime(time)}>
      {age(time, now)}
    </time>
  );
}

/** A bar beside its number, so screen readers skip it. */
export function Bar({ fraction }: { fraction: number }) {
  const width = `${Math.max(0, Math.min(1, fraction)) * 100}%`;
  return (
    <span class="bar" aria-hidden="true">
      {fraction > 0 && <span class="bar-fill" style={{ width }} />}
    </span>
  );
}

/** null: the total is unknown. */
export function ProgressBar({ fraction, label }: { fraction: number | null; label: string }) {
  return fraction === null ? (
    <progress aria-label={label} />
  ) : (
    <progress aria-label={label} value={fraction} max={1} />
  );
}

interface EmptyProps {
  title: string;
  /** The page shows nothing else, so the title is a heading. */
  isPage?: boolean;
  children?: ComponentChildren;
}

export function EmptyState({ title, isPage = false, children }: EmptyProps) {
  return (
    <div class="empty">
      {isPage ? <h2>{title}</h2> : <p class="empty-title">{title}</p>}
      {children}
    </div>
  );
}

export function Problem({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{problem.title}</p>
      {problem.isUnreachable ? (
        <p>The page retries automatically.</p>
      ) : (
        problem.detail && <p>{problem.detail}</p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Rejected rows by reason: `12 Not a device identifier`. */
export function Rejects({ rejected }: { rejected: Record<string, number> }) {
  const reasons = byRows(rejected);
  if (reasons.length === 0) return <span class="quiet">None</span>;
  return (
    <ul class="reasons">
      {reasons.map(([code, rows]) => (
        <li key={code} title={`${code}: ${rejectExplanation(code)}`}>
          <span class="numbers">{count(rows)}</span> {rejectReason(code)}
        </li>
      ))}
    </ul>
  );
}

/** Why a job failed: one line for each error. */
export function Errors({
  errors,
  title = 'Why it failed',
}: {
  errors: ImportLogError[] | null;
  title?: string;
}) {
  if (!errors || errors.length === 0) return null;
  return (
    <section class="problem" aria-label="Errors">
      <p class="problem-title">{title}</p>
      <ul>
        {errors.map(({ code, message, file, line, count: files }) => (
          <li key={`${code} ${file} ${line}`}>
            {message} <code>{code}</code>
            {files !== undefined && file === undefined && `, ${plural(files, 'file')}`}
            {file !== undefined && (
              <span class="path">
                {file}
                {line !== undefined && `, line ${count(line)}`}
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PagerProps {
  /** The address of the first page; undefined on the first page. */
  first?: string;
  next?: string;
  label: string;
}

export function Pager({ first, next, label }: PagerProps) {
  if (!first && !next) return null;
  return (
    <nav class="pager" aria-label={label}>
      {first && (
        <a class="button" href={first}>
          Newest
        </a>
      )}
      {next && (
        <a class="button" href={next}>
          Older
        </a>
      )}
    </nav>
  );
}
