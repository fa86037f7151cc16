import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem } from '../../client/problem.ts';
import type { Session } from '../../client/types.ts';
import { announcement } from '../hooks.ts';
import { connected } from '../live.ts';
import { address, pageOf } from '../router.ts';
import { signOut } from '../session.ts';
import { useStore } from '../store.ts';
import { chooseTheme, nextTheme, theme } from '../theme.ts';

function ThemeButton() {
  const choice = useStore(theme);
  return (
    <button type="button" class="quiet-button" onClick={() => chooseTheme(nextTheme(choice))}>
      Theme: {choice}
    </button>
  );
}

function SignOutButton() {
  const [problem, setProblem] = useState('');
  const leave = () =>
    signOut().catch((error: unknown) =>
      setProblem(error instanceof ApiProblem ? error.title : String(error)),
    );
  return (
    <>
      {problem && <span role="alert">{problem}</span>}
      <button type="button" class="quiet-button" onClick={leave}>
        Sign out
      </button>
    </>
  );
}

function Navigation({ session, path }: { session: Session; path: string }) {
  const { name } = pageOf(path);
  const { scopes, customer } = session;
  const isPartner = customer === null;
  const links = [
    { title: 'Audiences', to: 'audiences', names: ['audiences', 'segment'], isShown: true },
    { title: 'Imports', to: 'imports', names: ['imports', 'import'], isShown: isPartner },
    {
      title: 'Upload',
      to: 'upload',
      names: ['upload'],
      isShown: scopes.includes('import') || scopes.includes('audience'),
    },
    {
      title: 'Webhooks',
      to: 'webhooks',
      names: ['webhooks', 'webhook'],
      isShown: scopes.includes('webhook'),
    },
    {
      title: 'Privacy',
      to: 'requests',
      names: ['requests', 'request', 'new-request'],
      isShown: scopes.includes('privacy'),
    },
  ];
  return (
    <nav aria-label="Console">
      {links
        .filter(({ isShown }) => isShown)
        .map(({ title, to, names }) => (
          <a key={to} href={`/console/${to}`} aria-current={names.includes(name) ? 'page' : undefined}>
            {title}
          </a>
        ))}
    </nav>
  );
}

/** The installation instructions, because a link to the file would only download it. */
export const commandLine = '/docs#description/command-line';

/** For partners: links to other tools. */
function Footer() {
  return (
    <footer class="foot">
      <nav aria-label="Documentation">
        <a href="/docs">API reference</a>
        <a href="/docs/topics">Topics</a>
        <a href={commandLine}>Command line</a>
      </nav>
    </footer>
  );
}

/** Takes no space, so that the layout does not move. */
function ConnectionBanner() {
  const isConnected = useStore(connected);
  return (
    <div class="banner-place" role="status">
      {!isConnected && <p class="banner">Connection lost, reconnecting. Numbers may be out of date.</p>}
    </div>
  );
}

/** After a navigation, keyboard and screen reader continue at the start of the new page. */
function useFocusOnNavigation(path: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== path) main.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  return main;
}

export function Shell({ session, children }: { session: Session | null; children: ComponentChildren }) {
  const path = useStore(address).split('?')[0]!;
  const main = useFocusOnNavigation(path);
  const said = useStore(announcement);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <div class="top-inner">
          <a class="brand" href="/console/audiences">
            headrace
          </a>
          {session && session.shared_segment_id === null && <Navigation session={session} path={path} />}
          <div class="top-right">
            {session && (
              <span class="who" title={`Partner ${session.partner_id}`}>
                {session.partner_name}
                {session.customer !== null && ` · ${session.customer}`}
              </span>
            )}
            <ThemeButton />
            {session && session.shared_segment_id === null && <SignOutButton />}
          </div>
        </div>
      </header>
      <ConnectionBanner />
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      {session?.customer === null && session.shared_segment_id === null && <Footer />}
      <p class="visually-hidden" aria-live="polite">
        {said}
      </p>
    </>
  );
}
