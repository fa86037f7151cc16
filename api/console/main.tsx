/** The entry of the console: renders the page that the address names. */

import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Session } from '../client/types.ts';
import { Problem } from './components/basics.tsx';
import { Shell } from './components/shell.tsx';
import { AudiencesPage } from './pages/audiences.tsx';
import { ImportDetailPage } from './pages/import-detail.tsx';
import { ImportsPage } from './pages/imports.tsx';
import { NewRequestPage } from './pages/new-request.tsx';
import { NoScopePage, NotFoundPage, OtherAccountPage } from './pages/notices.tsx';
import { RequestDetailPage } from './pages/request-detail.tsx';
import { RequestsPage } from './pages/requests.tsx';
import { SegmentReportPage } from './pages/segment-report.tsx';
import { SignInPage } from './pages/sign-in.tsx';
import { UploadPage } from './pages/upload.tsx';
import { WebhookDetailPage } from './pages/webhook-detail.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { address, navigate, pageOf, signInPath, startRouter } from './router.ts';
import { loadSession, sessionStore } from './session.ts';
import { useStore } from './store.ts';
import { applyTheme } from './theme.ts';

function Redirect({ to }: { to: string }) {
  useEffect(() => navigate(to, { replace: true }), [to]);
  return null;
}

function SignedIn({ session, at }: { session: Session; at: string }) {
  const [path = '', query] = at.split('?');
  const page = pageOf(path);
  const { shared_segment_id: shared } = session;
  const asked = new URLSearchParams(query);
  const isOther = asked.get('reason') === 'other';
  const { id, scope } = page;
  if (shared !== null && !isOther && !(page.name === 'segment' && id === shared))
    return <Redirect to={`/console/segments/${shared}`} />;
  if (page.isPartner && session.customer !== null) return <NotFoundPage />;
  if (scope && !session.scopes.includes(scope)) return <NoScopePage scope={scope} />;
  switch (page.name) {
    case 'home':
      return <Redirect to="/console/audiences" />;
    case 'audiences':
      return <AudiencesPage session={session} query={asked} />;
    case 'segment':
      return <SegmentReportPage key={id} session={session} segment={id} query={asked} />;
    case 'imports':
      return <ImportsPage session={session} query={asked} />;
    case 'import':
      return <ImportDetailPage key={id} session={session} id={id} />;
    case 'upload':
      return <UploadPage session={session} query={asked} />;
    case 'webhooks':
      return <WebhooksPage />;
    case 'webhook':
      return <WebhookDetailPage key={id} id={id} />;
    case 'requests':
      return <RequestsPage query={asked} />;
    case 'request':
      return <RequestDetailPage key={id} id={id} />;
    case 'new-request':
      return <NewRequestPage />;
    case 'sign-in':
      return <OtherAccountPage session={session} />;
    default:
      return <NotFoundPage />;
  }
}

function Console() {
  const at = useStore(address);
  const known = useStore(sessionStore);
  const [path = '', query] = at.split('?');
  const signedIn = known.state === 'signed-in' ? known.session : null;
  const asked = new URLSearchParams(query);
  const isOther = asked.get('reason') === 'other' && known.state !== 'signed-out';
  const isSignIn = pageOf(path).name === 'sign-in' && !isOther;
  return (
    <Shell session={isSignIn ? null : signedIn}>
      {isSignIn ? (
        <SignInPage query={asked} />
      ) : signedIn ? (
        <SignedIn session={signedIn} at={at} />
      ) : known.state === 'signed-out' ? (
        <Redirect to={signInPath(at)} />
      ) : (
        known.state === 'unknown' && known.problem && <Problem problem={known.problem} />
      )}
    </Shell>
  );
}

applyTheme();
startRouter();
loadSession();
render(<Console />, document.getElementById('console')!);
