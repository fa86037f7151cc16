/** All that the API answers to. The router is built from this list, and the OpenAPI document is held against it. */
import type { Dependencies, Handler } from '../context.ts';
import { createHealth } from './health.ts';
import { createMarketplaceImport } from './marketplace-import.ts';

export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  /** public: anyone; partner: an API key; user: an API key, and a user token where one is sent. */
  access: 'public' | 'partner' | 'user';
  body?: 'required' | 'optional';
  handler: Handler;
}

export function createRoutes(deps: Dependencies): Route[] {
  const imports = createMarketplaceImport(deps);
  const health = createHealth(deps);
  const importPath = '/v1/marketplace/import';
  return [
    { method: 'get', path: importPath, access: 'partner', handler: imports.list },
    { method: 'post', path: importPath, access: 'partner', body: 'required', handler: imports.queue },
    { method: 'delete', path: importPath, access: 'partner', body: 'required', handler: imports.remove },
    { method: 'get', path: `${importPath}/:import_log_id`, access: 'partner', handler: imports.get },
    { method: 'get', path: '/health/live', access: 'public', handler: health.live },
    { method: 'get', path: '/health/ready', access: 'public', handler: health.ready },
  ];
}
