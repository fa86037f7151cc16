import { useEffect, useState } from 'preact/hooks';
import { statusWords } from '../../client/words.ts';
import { useSettled } from '../hooks.ts';
import { hrefWith, navigate } from '../router.ts';

interface Props {
  /** The address of the list. Filters are in its query, so that they survive a reload and can be shared. */
  path: string;
  query: URLSearchParams;
  searchLabel: string;
}

const SETTLED_MS = 250;

export function Filters({ path, query, searchLabel }: Props) {
  const search = query.get('search') ?? '';
  const status = query.get('status') ?? '';
  const [typed, setTyped] = useState(search);
  const settled = useSettled(typed, SETTLED_MS).trim();
  useEffect(() => setTyped(search), [search]);
  useEffect(() => {
    if (settled !== search && settled === typed.trim())
      navigate(hrefWith(path, { search: settled, status }), { replace: true });
  }, [settled]);
  return (
    <search class="filters">
      <input
        type="search"
        aria-label={searchLabel}
        placeholder={searchLabel}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <select
        aria-label="Status"
        value={status}
        onChange={(event) => navigate(hrefWith(path, { search, status: event.currentTarget.value }))}
      >
        <option value="">Any status</option>
        {Object.entries(statusWords).map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </search>
  );
}
