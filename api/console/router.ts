/** Client-side routing: the page of an address, and navigation without a reload. */
import type { KeyScope } from '../../schemas/partner-documents.ts';
import { createStore } from './store.ts';

interface PageKind {
  path: string;
  /** Hidden from customers. */
  isPartner?: true;
  /** Needs a key with this scope. */
  scope?: KeyScope;
}

const pages = {
  home: { path: '/console/' },
  'sign-in': { path: '/console/sign-in' },
  audiences: { path: '/console/audiences' },
  segment: { path: '/console/segments/:id' },
  imports: { path: '/console/imports', isPartner: true },
  import: { path: '/console/imports/:id', isPartner: true },
  upload: { path: '/console/upload', isPartner: true },
  webhooks: { path: '/console/webhooks', isPartner: true, scope: 'webhook' },
  webhook: { path: '/console/webhooks/:id', isPartner: true, scope: 'webhook' },
  requests: { path: '/console/requests', isPartner: true, scope: 'privacy' },
  request: { path: '/console/requests/:id', isPartner: true, scope: 'privacy' },
  'new-request': { path: '/console/new-request', isPartner: true, scope: 'privacy' },
  'not-found': { path: '' },
} satisfies Record<string, PageKind>;

export interface Page extends PageKind {
  name: keyof typeof pages;
  /** 0: the page has none. */
  id: number;
}

const numbered = /^(\/console\/[a-z]+\/)([1-9]\d{0,15})$/;

export function pageOf(address: string): Page {
  const [, list, id = '0'] = numbered.exec(address) ?? [];
  const path = list === undefined ? address : `${list}:id`;
  const names = Object.keys(pages) as (keyof typeof pages)[];
  const name = names.find((each) => pages[each].path === path) ?? 'not-found';
  return { ...pages[name], name, id: Number(id) };
}

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
