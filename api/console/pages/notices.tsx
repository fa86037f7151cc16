/** Pages with a message only. */
import type { Session } from '../../client/types.ts';
import { useTitle } from '../hooks.ts';

/** The same for a missing record and for one of another account. */
export function NotFoundPage({ what = 'page' }: { what?: string }) {
  useTitle('Not found');
  return (
    <div class="narrow stack stack-wide">
      <h1>Not found</h1>
      <p>
        This {what} does not exist or you have no access to it. Check the address, or sign in with the key or
        token of its owner.
      </p>
      <p>
        <a class="button" href="/console/audiences">
          Go to your audiences
        </a>
      </p>
    </div>
  );
}

/** Shown if the session's key lacks the scope. */
export function NoScopePage({ scope }: { scope: string }) {
  useTitle('Not allowed');
  return (
    <div class="narrow stack stack-wide">
      <h1>Not allowed</h1>
      <p>
        Your API key does not have the scope <code>{scope}</code>. Sign in with a key that has it.
      </p>
    </div>
  );
}

/** Shown for a link of another account: the existing session stays. */
export function OtherAccountPage({ session }: { session: Session }) {
  useTitle('Another account');
  return (
    <div class="sign-in card stack stack-wide">
      <h1>This link is for another account</h1>
      <p>
        You are still signed in as {session.customer ?? session.partner_name}. To use the link, sign out and
        open it again.
      </p>
      <p>
        <a href="/console/audiences">Stay signed in</a>
      </p>
    </div>
  );
}
