/** Marketplace imports: /v1/marketplace/import. */

import type { ImportRequest } from '../../../pipeline/accept/new-job.ts';
import { sealCredentials } from '../../../pipeline/sources/credentials.ts';
import type { JobDocument } from '../../../schemas/documents.ts';
import { importQuery } from '../../../schemas/http-queries.ts';
import { type Answer, type Prepare, send } from '../../http/change.ts';
import type { Handler } from '../../http/context.ts';
import { createPublicAddress, nextPage, readQuery } from '../../http/pages.ts';
import { notFound, Problem } from '../../http/problem.ts';
import { createSharedReads } from '../../http/shared-reads.ts';
import { checkPrefixLeftOut, parseId, validate } from '../../http/validate.ts';
import { linkRejects } from '../../jobs/reject-records.ts';
import { type DryRuns, isDryRun } from '../dry-runs/dry-runs.ts';
import type { Dependencies } from '../shared.ts';
import { findImportLog, shown, toImportLog } from './import-records.ts';
import { createListRenderer } from './render-records.ts';

const LISTED = 100;
export const importPath = '/v1/marketplace/import';

export function createMarketplaceImport(deps: Dependencies, dryRuns: DryRuns) {
  const { attributes, jobs, config, bodies } = deps;
  const addressOf = createPublicAddress(config);
  const queued = (job: JobDocument): Answer => ({
    status: 202,
    body: JSON.stringify({ import_log_id: job._id }),
    location: addressOf(`${importPath}/${job._id}`),
  });
  const render = createListRenderer();
  const sharedList = createSharedReads(async (partner) =>
    render(partner, await jobs.listImportLogs(partner, LISTED, shown)),
  );

  const list: Handler = async (ctx) => {
    if (ctx.querystring !== '') return search(ctx);
    const body = await sharedList(ctx.state.scope.partner);
    ctx.type = 'application/json';
    ctx.body = body;
  };

  const search: Handler = async (ctx) => {
    const query = { limit: LISTED, ...readQuery(ctx, importQuery) };
    const { limit, cursor: before, ...filters } = query;
    const found = await jobs.searchImportLogs(ctx.state.scope.partner, shown, {
      ...filters,
      before,
      limit: limit + 1,
      maxMs: config.limitBackendMs,
    });
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', nextPage(addressOf(ctx.path), { ...query, cursor: page.at(-1)!._id }));
    send(ctx, { status: 200, body: JSON.stringify(page.map(toImportLog)) });
  };

  const get: Handler = async (ctx) => {
    const job = await findImportLog(deps, ctx.state.scope.partner, parseId(ctx.params.import_log_id));
    if (!job) throw notFound();
    linkRejects(ctx, job, addressOf(`${importPath}/${job._id}/rejects`));
    send(ctx, { status: 200, body: JSON.stringify(toImportLog(job)) });
  };

  const queue: Prepare = (ctx) => {
    const body = validate(bodies.importRequest, ctx.request.body);
    const request: ImportRequest = {
      kind: 'import',
      partner: ctx.state.scope.partner,
      filePath: body.file_path,
      pathType: body.path_type,
      keyType: body.key_type,
      compressed: body.compressed ?? null,
    };
    if (request.pathType === 0) checkPrefixLeftOut(request.partner, request.filePath);
    if (body.credentials) {
      const { region, ...credentials } = body.credentials;
      const { partner } = request;
      request.credentials = (_id) => sealCredentials(config.secret, { _id, partner }, credentials);
      request.region = region;
    }
    if (isDryRun(ctx)) return dryRuns.queue(ctx, request, null);
    return { job: () => request, answer: queued };
  };

  const remove: Prepare = async (ctx) => {
    const body = validate(bodies.deleteRequest, ctx.request.body);
    const { partner } = ctx.state.scope;
    const { key_type: keyType, keys } = body;
    const { attributes: named, unknown } = await attributes.resolve(partner, keyType, keys);
    if (unknown.length > 0) {
      const names = unknown.map((index) => keys[index]);
      throw new Problem(
        'unknown_keys',
        `These keys do not belong to you: ${names.slice(0, 20).join(', ')}. Nothing was queued.`,
        {
          errors: unknown.map((index) => ({
            path: `keys.${index}`,
            message: `${keys[index]} is not one of your keys`,
          })),
        },
      );
    }
    const request = { kind: 'delete', partner, keyType, keys, attributes: named } as const;
    return { job: () => request, answer: queued };
  };

  return { list, get, queue, remove };
}
