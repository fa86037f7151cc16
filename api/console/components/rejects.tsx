import { count } from '../../client/format.ts';
import { byRows, rejectExplanation, rejectReason } from '../../client/words.ts';

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
