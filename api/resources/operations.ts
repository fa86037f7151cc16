/** All routes of the API. The router is built from this list, and a test compares the OpenAPI document with it. */

import type { KeyScope } from '../../schemas/documents.ts';
import { deletionBytes } from '../../schemas/http.ts';
import {
  audienceQuery,
  deliveryQuery,
  dryRunQuery,
  importQuery,
  pageQuery,
} from '../../schemas/http-queries.ts';
import { createDescription } from '../describe/description.ts';
import { createHealth } from '../describe/health.ts';
import { createSchemaRegistry } from '../describe/schema-registry.ts';
import type { Prepare } from '../http/change.ts';
import type { Handler } from '../http/context.ts';
import { parametersOf } from '../http/pages.ts';
import { createMarketplaceAttributes } from './attributes/attribute-operations.ts';
import { createFirstpartyAudience } from './audiences/audience-operations.ts';
import { createAudienceLoads } from './audiences/load-operations.ts';
import { createProgress } from './audiences/progress.ts';
import { createReports } from './audiences/reports.ts';
import { compositionParameters, createComposition } from './composition/composition-operations.ts';
import { createDryRuns } from './dry-runs/dry-runs.ts';
import { createEvents } from './events/event-operations.ts';
import { createMarketplaceImport, importPath } from './imports/import-operations.ts';
import type { Dependencies } from './shared.ts';
import { createWebhooks, webhookPath } from './webhooks/webhook-operations.ts';

interface Common {
  path: string;
  /**
   * public: anyone; console: pages of the console, with or without a session; partner: an API key; user: an API key, and a user token where one
   * is sent. Checked before the body is read.
   */
  access: 'public' | 'console' | 'partner' | 'user';
  /**
   * What an API key must have, unless it is `read` for a GET, `audience` for what changes audiences and `import` for the rest. A
   * session of the console may call what needs `read` and nothing else.
   */
  scopes?: readonly KeyScope[];
  body?: 'required' | 'optional';
  /** Of its body, if that may be larger than others. */
  bodyBytes?: number;
  /** Known query parameters; public routes ignore the query. */
  query?: readonly string[];
}
export interface ReadRoute extends Common {
  method: 'get';
  handler: Handler;
}
/** Signing in and out, for the pages of the console. */
export interface SessionRoute extends Common {
  method: 'post' | 'delete';
  access: 'console';
  handler: Handler;
}
/** What changes something takes an Idempotency-Key: api/jobs/idempotent.ts carries out what is prepared here. */
export interface ChangeRoute extends Common {
  method: 'post' | 'put' | 'patch' | 'delete';
  access: 'partner' | 'user';
  prepare: Prepare;
}
export type Route = ReadRoute | SessionRoute | ChangeRoute;

/** One resource under two versions: the specification has both. */
export const audiencePaths = ['/v2/firstparty/audience', '/v1/firstparty/audience'];

export function createRoutes(deps: Dependencies): Route[] {
  const dryRuns = createDryRuns(deps);
  const imports = createMarketplaceImport(deps, dryRuns);
  const attributes = createMarketplaceAttributes(deps);
  const audiences = createFirstpartyAudience(deps, dryRuns);
  const loads = createAudienceLoads(deps, audiences);
  const reports = createReports(deps, audiences);
  const composition = createComposition(deps, audiences);
  const progress = createProgress(deps, audiences);
  const events = createEvents(deps);
  const webhooks = createWebhooks(deps);
  const health = createHealth(deps);
  const registry = createSchemaRegistry(deps.config);
  const description = createDescription(deps);

  const importLog = `${importPath}/:import_log_id`;
  const partner: Route[] = [
    {
      method: 'get',
      path: importPath,
      access: 'partner',
      query: parametersOf(importQuery),
      handler: imports.list,
    },
    {
      method: 'post',
      path: importPath,
      access: 'partner',
      body: 'required',
      query: parametersOf(dryRunQuery),
      prepare: imports.queue,
    },
    {
      method: 'delete',
      path: importPath,
      access: 'partner',
      body: 'required',
      bodyBytes: deletionBytes(deps.config),
      prepare: imports.remove,
    },
    // Before what takes any id.
    { method: 'get', path: `${importPath}/events`, access: 'partner', handler: events.imports },
    {
      method: 'get',
      path: `${importPath}/dry-runs/:dry_run_id`,
      access: 'partner',
      handler: dryRuns.ofImport,
    },
    { method: 'get', path: importLog, access: 'partner', handler: imports.get },
    { method: 'get', path: `${importLog}/files`, access: 'partner', handler: reports.importFiles },
    { method: 'get', path: `${importLog}/rejects`, access: 'partner', handler: reports.importRejects },
    { method: 'get', path: `${importLog}/progress`, access: 'partner', handler: progress.ofImport },
    {
      method: 'get',
      path: '/v1/marketplace/attribute',
      access: 'partner',
      query: parametersOf(pageQuery),
      handler: attributes.list,
    },
    {
      method: 'patch',
      path: '/v1/marketplace/attribute/:attribute_id',
      access: 'partner',
      body: 'required',
      prepare: attributes.change,
    },
  ];
  const webhook = `${webhookPath}/:webhook_id`;
  const delivery = `${webhook}/deliveries/:delivery_id`;
  const hooks = [
    { method: 'get', path: webhookPath, handler: webhooks.list },
    { method: 'post', path: webhookPath, body: 'required', prepare: webhooks.create },
    { method: 'get', path: webhook, handler: webhooks.get },
    { method: 'patch', path: webhook, body: 'required', prepare: webhooks.change },
    { method: 'delete', path: webhook, prepare: webhooks.remove },
    { method: 'post', path: `${webhook}/secret`, prepare: webhooks.rotate },
    { method: 'post', path: `${webhook}/test`, prepare: webhooks.test },
    {
      method: 'get',
      path: `${webhook}/deliveries`,
      query: parametersOf(deliveryQuery),
      handler: webhooks.listDeliveries,
    },
    { method: 'get', path: delivery, handler: webhooks.getDelivery },
    { method: 'post', path: `${delivery}/redeliver`, prepare: webhooks.redeliver },
  ] satisfies (Omit<ReadRoute, 'access'> | Omit<ChangeRoute, 'access'>)[];
  const user = audiencePaths.flatMap((path): Route[] => [
    { method: 'get', path, access: 'user', query: parametersOf(audienceQuery), handler: audiences.list },
    {
      method: 'post',
      path,
      access: 'user',
      body: 'required',
      query: parametersOf(dryRunQuery),
      prepare: audiences.create,
    },
    { method: 'get', path: `${path}/events`, access: 'user', handler: events.audiences },
    { method: 'get', path: `${path}/dry-runs/:dry_run_id`, access: 'user', handler: dryRuns.ofAudience },
    { method: 'get', path: `${path}/:audience_id`, access: 'user', handler: audiences.get },
    {
      method: 'patch',
      path: `${path}/:audience_id`,
      access: 'user',
      body: 'required',
      prepare: audiences.change,
    },
    {
      method: 'put',
      path: `${path}/:audience_id`,
      access: 'user',
      body: 'optional',
      prepare: audiences.clear,
    },
    {
      method: 'delete',
      path: `${path}/:audience_id`,
      access: 'user',
      body: 'optional',
      prepare: audiences.remove,
    },
    {
      method: 'get',
      path: `${path}/:audience_id/loads`,
      access: 'user',
      query: parametersOf(pageQuery),
      handler: loads.list,
    },
    { method: 'get', path: `${path}/:audience_id/loads/:load_id`, access: 'user', handler: loads.get },
    {
      method: 'get',
      path: `${path}/:audience_id/loads/:load_id/progress`,
      access: 'user',
      handler: progress.ofLoad,
    },
    { method: 'get', path: `${path}/:audience_id/files`, access: 'user', handler: reports.audienceFiles },
    { method: 'get', path: `${path}/:audience_id/rejects`, access: 'user', handler: reports.audienceRejects },
    {
      method: 'get',
      path: `${path}/:audience_id/composition`,
      access: 'user',
      query: compositionParameters,
      handler: composition.get,
    },
    {
      method: 'get',
      path: `${path}/:audience_id/composition/overlaps`,
      access: 'user',
      query: parametersOf(pageQuery),
      handler: composition.listOverlaps,
    },
    {
      method: 'post',
      path: `${path}/:audience_id/composition`,
      access: 'user',
      // It computes a report and changes nothing.
      scopes: ['read'],
      prepare: composition.compute,
    },
  ]);
  const open: [string, Handler][] = [
    ['/', description.index],
    ['/openapi.json', description.openapi],
    ['/asyncapi.json', description.asyncapi],
    ['/docs', description.docs],
    ['/docs/topics', description.docsTopics],
    ['/docs/setup.js', description.docsSetupScript],
    ['/docs/reference.js', description.docsScript],
    ['/health/live', health.live],
    ['/health/ready', health.ready],
    ...registry.routes,
  ];
  return [
    ...partner,
    ...hooks.map((route): Route => ({ ...route, access: 'partner', scopes: ['read', 'webhook'] })),
    ...user,
    ...open.map(([path, handler]): Route => ({ method: 'get', path, access: 'public', handler })),
  ];
}
