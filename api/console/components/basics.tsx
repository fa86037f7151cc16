/** Small parts that most pages use. */
import type { ComponentChildren } from 'preact';
import { age, count, exactTime, plural } from '../../client/format.ts';
import type { ApiProblem } from '../../client/problem.ts';
import type { Delivery, ImportLogError, Session, Status as Value, Webhook } from '../../client/types.ts';
import { byRows, rejectExplanation, rejectReason, statusWords } from '../../client/words.ts';
import { totalRejects } from '../funnel.ts';
import { useNow } from '../hooks.ts';
import type { Query } from '../query.ts';

const classes: Record<Value, string> = { 0: 'pending', 1: 'running', 2: 'done', 3: 'failed' };

interface StatusProps {
  status: Value;
  /** Rows by reason; shown once the job has ended. */
  rejected?: Record<string, number> | null;
}

/** `Done, 93 rejected`. */
export function Status({ status, rejected }: StatusProps) {
  const rows = status < 2 ? 0 : totalRejects(rejected ?? {});
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
    <div class="skeleton-rows stack stack-tight" aria-busy="true">
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

export const notYet = <span class="quiet">–</span>;
/** null: not known, or not final yet. */
export const counted = (value: number | null) => (value === null ? notYet : count(value));

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

export function CsvButton({ caption, onClick }: { caption: string; onClick: () => void }) {
  return (
    <button
      type="button"
      class="quiet-button small table-csv"
      aria-label={`Download ${caption} as CSV`}
      onClick={onClick}
    >
      CSV
    </button>
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
    <div class="empty stack">
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

interface ChoiceProps<T> {
  legend: string;
  value: T;
  onChoose: (value: T) => void;
  options: readonly { value: T; label: string; note?: string }[];
}

/** Radio buttons. */
export function Choice<T>({ legend, value, onChoose, options }: ChoiceProps<T>) {
  return (
    <fieldset class="stack stack-tight">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.label} class="option">
          <input
            type="radio"
            name={legend}
            checked={value === option.value}
            onChange={() => onChoose(option.value)}
          />
          <span>
            {option.label} {option.note && <span class="quiet">{option.note}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** In place of the data of a query: that it is being read, or why it was not. */
export function QueryState({ query, rows }: { query: Query<unknown>; rows: number }) {
  if (query.problem) return <Problem problem={query.problem} retry={query.reload} />;
  return query.data === undefined ? <SkeletonRows rows={rows} /> : null;
}

/** `Submitted` and `Last change`, in a list of facts. */
export function Times({ created_at, updated_at }: { created_at: string; updated_at: string }) {
  return (
    <>
      <dt>Submitted</dt>
      <dd>
        <Age time={created_at} />, {exactTime(created_at)}
      </dd>
      <dt>Last change</dt>
      <dd>
        <Age time={updated_at} />, {exactTime(updated_at)}
      </dd>
    </>
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

export function WebhookState({ webhook: { active, gone } }: { webhook: Webhook }) {
  if (active) return <span class="status status-done">Active</span>;
  return <span class="status status-failed">{gone ? 'Disabled: receiver answered 410' : 'Disabled'}</span>;
}

const deliveryClasses = { pending: 'running', delivered: 'done', failed: 'failed' };
const deliveryWords = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

export function DeliveryState({ status }: Pick<Delivery, 'status'>) {
  return <span class={`status status-${deliveryClasses[status]}`}>{deliveryWords[status]}</span>;
}

/** Shown if the session may load files. */
export function UploadLink({ session, as }: { session: Session; as: 'import' | 'audience' }) {
  if (!session.scopes.includes(as)) return null;
  return (
    <a class="button primary" href={`/console/upload?as=${as}`}>
      Upload a file
    </a>
  );
}
