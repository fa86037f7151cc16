import { useTitle } from '../hooks.ts';

/** The same for what does not exist and for what belongs to somebody else. */
export function NotFoundPage({ what = 'page' }: { what?: string }) {
  useTitle('Not found');
  return (
    <div class="narrow">
      <h1>Not found</h1>
      <p>
        There is no such {what}, or you may not see it. Check the address, or sign in with the key or token
        that it belongs to.
      </p>
      <p>
        <a class="button" href="/console/audiences">
          Go to your audiences
        </a>
      </p>
    </div>
  );
}
