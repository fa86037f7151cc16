import { plural } from '../../client/format.ts';
import type { ImportLogError } from '../../client/types.ts';

/** Why a job failed: one line for each error. */
export function Errors({ errors }: { errors: ImportLogError[] | null }) {
  if (!errors || errors.length === 0) return null;
  return (
    <section class="problem" aria-label="Errors">
      <p class="problem-title">
        {errors.length === 1 ? 'This is why it failed' : `${plural(errors.length, 'reason')} why it failed`}
      </p>
      <ul>
        {errors.map(({ code, message, file, line, count }) => (
          <li key={`${code} ${file} ${line}`}>
            {message} <code>{code}</code>
            {file && <span class="path"> {file}</span>}
            {line !== undefined && `, line ${line}`}
            {count !== undefined && `, ${plural(count, file ? 'row' : 'file')}`}
          </li>
        ))}
      </ul>
    </section>
  );
}
