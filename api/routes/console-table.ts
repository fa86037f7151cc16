/** The routes of the console. They belong to its pages, not to the API, so the OpenAPI document does not have them. */
import type { Handler } from '../context.ts';
import { createConsolePages } from './console-pages.ts';
import type { Route } from './table.ts';

export function createConsoleRoutes(): Route[] {
  const pages = createConsolePages();
  const open: [string, Handler][] = [
    ['/console', pages.home],
    ['/console/sign-in', pages.page],
    ['/console/audiences', pages.page],
    ['/console/segments/:id', pages.page],
    ['/console/imports', pages.page],
    ['/console/imports/:id', pages.page],
    ['/console/assets/:name', pages.asset],
    ['/console/*path', pages.missing],
  ];
  return open.map(([path, handler]): Route => ({ method: 'get', path, access: 'public', handler }));
}
