import type { Session } from '../../client/types.ts';
import { useTitle } from '../hooks.ts';

/** Shown for a link of another account: the existing session stays. */
export function OtherAccountPage({ session }: { session: Session }) {
  useTitle('Another account');
  return (
    <div class="sign-in card">
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
