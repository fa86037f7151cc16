/** First-party audiences: /v2/firstparty/audience, also served under /v1. */
import { withDeadline } from '../../../pipeline/runtime/deadline.ts';
import { segmentOf } from '../../../pipeline/stores/audiences.ts';
import { audienceDetails, audienceIds } from '../../../schemas/http-answers.ts';
import { dryRunId } from '../../../schemas/http-dry-runs.ts';
import { dryRunQuery } from '../../../schemas/http-queries.ts';
import { answer, type Change, direct } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { notFound } from '../../http/problem.ts';
import { example, json, location, nothing, tagged } from '../../http/responses.ts';
import { jsonArray, mapEach, sendChunks } from '../../http/stream-json.ts';
import { checkPrefixLeftOut, parseId } from '../../http/validate.ts';
import { entriesOfAudience, toFileEntry } from '../../jobs/file-records.ts';
import type { QueueDryRun } from '../dry-runs/dry-runs.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';
import { audienceOf, readOpenLoads, resolveAudience, toAudience } from './audience-records.ts';
import { listAudiences } from './list-audiences.ts';

/** Max wait for the audience document; otherwise its queued job creates it. */
const AUDIENCE_MS = 1_000;

const one = `${audiencePath}/:audience_id`;
const changing = { ...firstparty, scopes: ['audience'] } as const;

export function audienceOperations(deps: Dependencies, queueDryRun: QueueDryRun): Operation[] {
  const { audiences, bodies, log, config } = deps;
  const pathOf = (ctx: Context) => ctx.path.replace(/\/$/, '');

  const create = change({
    ...changing,
    method: 'post',
    path: audiencePath,
    operationId: 'createAudience',
    summary: 'Create an audience',
    description: 'Creates the audience and queues the load of its files.',
    query: dryRunQuery,
    body: {
      schema: bodies.createAudience,
      examples: {
        prefix: example('All files under a prefix', { name: 'Summer visitors', file_path: 'acme/summer/' }),
        file: example('One file', { name: 'Summer visitors', file_path: 'acme/summer/1.csv.gz' }),
      },
    },
    responses: {
      201: json(audienceIds, 'Created', { headers: location }),
      202: json(dryRunId, 'The dry run is queued', { headers: location }),
    },
    problems: ['too_many_pending', 'quota_exceeded'],
    prepare(ctx, { name: audienceName, file_path: filePath }, { dry_run }) {
      const { partner, customer } = ctx.state.scope;
      checkPrefixLeftOut(partner, filePath);
      const request = { kind: 'audience', partner, filePath, audienceName, customer } as const;
      if (dry_run) return queueDryRun(ctx, request, customer);
      return {
        job: () => request,
        async answer(job) {
          // The job is queued, and dispatch creates the audience if this fails: the response is the same either way.
          await withDeadline(AUDIENCE_MS, audiences.ensure(job)).catch((error) =>
            log.warn({ err: error, job: job._id }, 'audience not created: dispatch creates it with the job'),
          );
          const ids = { audience_id: job._id, default_warehouse_segment_id: segmentOf(job._id) };
          return answer(201, ids, `${pathOf(ctx)}/${job._id}`);
        },
      };
    },
  });

  const get = read({
    ...firstparty,
    path: one,
    operationId: 'getAudience',
    summary: 'Get audience details',
    description: 'The audience with its files. Poll until `status` is 2 or 3.',
    responses: tagged(json(audienceDetails, 'The audience')),
    async handle(ctx) {
      const id = parseId(ctx.params.audience_id);
      const open = await readOpenLoads(deps, ctx.state.scope.partner, id);
      const audience = await audienceOf(deps, ctx);
      const record = JSON.stringify(toAudience(audience, open, config.privacyFloor));
      const entries = mapEach(entriesOfAudience(deps, id, audience.generation), toFileEntry);
      await sendChunks(ctx, 'application/json', jsonArray(entries, `${record.slice(0, -1)},"file":[`, ']}'));
    },
  });

  const rename = (ctx: Context, name: string): Change =>
    direct({
      intend: async () => (await audienceOf(deps, ctx))._id,
      async apply(id) {
        await audiences.rename(ctx.state.scope, id, name);
        return { status: 204 };
      },
    });
  function append(ctx: Context, filePath: string): Change {
    const { partner } = ctx.state.scope;
    checkPrefixLeftOut(partner, filePath);
    return {
      async job() {
        const { _id: audience, generation } = await audienceOf(deps, ctx);
        return { kind: 'audience', partner, filePath, audience, generation };
      },
      answer: (job) => ({ status: 204, location: `${pathOf(ctx)}/loads/${job._id}` }),
    };
  }
  const renameOrAppend = change({
    ...changing,
    method: 'patch',
    path: one,
    operationId: 'changeAudience',
    summary: 'Append files, or rename an audience',
    description:
      'With `name`, renames the audience at once. With `file_path`, queues a load that adds the devices of these files to the audience, each device once. Files that were already loaded with the same content are skipped; files that failed or were cancelled are loaded again. `Location` is the URL of the load.',
    body: {
      schema: bodies.changeAudience,
      examples: {
        prefix: example('All files under a prefix', { file_path: 'acme/summer/day-2/' }),
        file: example('One file', { file_path: 'acme/summer/2.csv' }),
      },
    },
    responses: { 204: nothing('Queued or renamed', location) },
    problems: ['too_many_pending', 'quota_exceeded'],
    prepare: (ctx, { file_path: filePath, name }) =>
      filePath === undefined ? rename(ctx, name!) : append(ctx, filePath),
  });

  const clear = change({
    ...changing,
    method: 'put',
    path: one,
    operationId: 'clearAudience',
    summary: 'Clear an audience',
    description:
      'Takes effect immediately: removes all devices and cancels pending and running loads. Files appended afterwards are loaded in full, even if they were loaded before.',
    body: { schema: bodies.nothing, optional: true },
    responses: { 204: nothing('Cleared') },
    prepare: (ctx) =>
      direct({
        // Clears the generation at the time of the request, nothing appended since.
        async intend() {
          const { _id, generation } = await audienceOf(deps, ctx);
          return { id: _id, generation };
        },
        async apply({ id, generation }) {
          await audiences.clear(ctx.state.scope, id, generation);
          return { status: 204 };
        },
      }),
  });

  const remove = change({
    ...changing,
    method: 'delete',
    path: one,
    operationId: 'deleteAudience',
    summary: 'Delete an audience',
    description:
      'Permanent, and takes effect immediately: clears the audience and removes it with its loads, files and report (404 from then on). Idempotent.',
    body: { schema: bodies.nothing, optional: true },
    responses: { 204: nothing('Deleted') },
    prepare(ctx) {
      const id = parseId(ctx.params.audience_id);
      const { scope } = ctx.state;
      return direct({
        async intend() {
          if (!(await resolveAudience(deps, scope, id)) && !(await audiences.isDeleted(scope, id)))
            throw notFound();
        },
        async apply() {
          await audiences.delete(scope, id);
          return { status: 204 };
        },
      });
    },
  });

  return [listAudiences(deps), create, get, renameOrAppend, clear, remove];
}
