/** Client-side routing: the page of an address, and navigation without a reload. */
import { createStore } from './store.ts';

export type Page =
  | {
      name:
        | 'home'
        | 'sign-in'
        | 'audiences'
        | 'imports'
        | 'upload'
        | 'webhooks'
        | 'requests'
        | 'new-request'
        | 'not-found';
    }
  | { name: 'segment' | 'import' | 'webhook' | 'request'; id: number };

const fixed: Record<string, Page> = {
  '/console/': { name: 'home' },
  '/console/sign-in': { name: 'sign-in' },
  '/console/audiences': { name: 'audiences' },
  '/console/imports': { name: 'imports' },
  '/console/upload': { name: 'upload' },
  '/console/webhooks': { name: 'webhooks' },
  '/console/requests': { name: 'requests' },
  '/console/new-request': { name: 'new-request' },
};
const numbered = /^\/console\/(segment|import|webhook|request)s\/([1-9]\d{0,15})$/;

export function pageOf(path: string): Page {
  const known = Object.hasOwn(fixed, path) ? fixed[path] : undefined;
  if (known) return known;
  const match = numbered.exec(path);
  if (!match) return { name: 'not-found' };
  return { name: match[1] as 'segment' | 'import' | 'webhook' | 'request', id: Number(match[2]) };
}

/** Hidden from customers. */
export const isPartnerPage = ({ name }: Page): boolean =>
  ['imports', 'import', 'upload', 'webhooks', 'webhook', 'requests', 'request', 'new-request'].includes(name);

/** Only a page of the console: another address would be an open redirect. */
export function safeNext(next: string | null): string {
  const base = 'http://console';
  const to = next !== null && URL.canParse(next, base) ? new URL(next, base) : null;
  const isPage = to?.origin === base && !['not-found', 'sign-in'].includes(pageOf(to.pathname).name);
  return isPage ? to.pathname + to.search : '/console/audiences';
}

export const signInPath = (next: string, reason?: string): string => {
  const query = new URLSearchParams();
  if (reason) query.set('reason', reason);
  if (next !== '/console/') query.set('next', next);
  return `/console/sign-in${query.size > 0 ? `?${query}` : ''}`;
};

/** Path and query of the page shown. */
export const address = createStore('/console/');

export const hrefWith = (path: string, query: Record<string, string | undefined>): string => {
  const given = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
};

export function navigate(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  address.set(location.pathname + location.search);
}

/** Opens another page, scrolled to its top. */
export function openPage(to: string): void {
  navigate(to);
  window.scrollTo(0, 0);
}

function followLink(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a');
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return;
  const to = new URL(link.href);
  const isOurs = to.origin === location.origin && to.pathname.startsWith('/console/') && !to.hash;
  if (!isOurs) return;
  event.preventDefault();
  openPage(to.pathname + to.search);
}

export function startRouter(): void {
  const update = () => address.set(location.pathname + location.search);
  update();
  window.addEventListener('popstate', update);
  document.addEventListener('click', followLink);
}
