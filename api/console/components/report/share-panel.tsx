import { useState } from 'preact/hooks';
import { asOf } from '../../../client/format.ts';
import type { ReportLink } from '../../../client/types.ts';
import { change } from '../../api-client.ts';
import { useAction } from '../../hooks.ts';
import { Problem } from '../basics.tsx';

const DAY_SECONDS = 86_400;
const lifetimes: [days: number, label: string][] = [
  [1, '1 day'],
  [7, '7 days'],
  [30, '30 days'],
];

/** Creates a link that shows this report to anyone. */
export function SharePanel({ path }: { path: string }) {
  const [days, setDays] = useState(7);
  const [link, setLink] = useState<ReportLink>();
  const { problem, run } = useAction();
  const [isCopied, setCopied] = useState(false);

  const create = (event: Event) => {
    event.preventDefault();
    setCopied(false);
    const body = { expires_in: days * DAY_SECONDS };
    return run(async () => setLink((await change<ReportLink>('POST', `${path}/share`, body)).data));
  };
  const url = link && new URL(link.url, location.origin).href;
  /** Without https there is no clipboard: the link can still be selected. */
  const copy = () =>
    navigator.clipboard?.writeText(url!).then(
      () => setCopied(true),
      () => {},
    );
  return (
    <section class="card share-panel" aria-label="Share this report">
      <form class="actions" onSubmit={create}>
        <label>
          Link expires in{' '}
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {lifetimes.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Create link
        </button>
      </form>
      <p class="quiet">
        Anyone with the link can read this report, as a customer sees it, and nothing else. It stops working
        early if the API key that you are signed in with is revoked.
      </p>
      {url && (
        <div class="actions">
          <input
            class="share-url"
            readOnly
            aria-label="Link to this report"
            value={url}
            onFocus={(event) => event.currentTarget.select()}
          />
          <button type="button" onClick={copy}>
            {isCopied ? 'Copied' : 'Copy'}
          </button>
          <p class="quiet" role="status">
            Works until {asOf(link.expires_at, Date.now())}.
          </p>
        </div>
      )}
      {problem && <Problem problem={problem} />}
    </section>
  );
}
