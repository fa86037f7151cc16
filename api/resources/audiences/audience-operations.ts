/** First-party audiences: /v2/firstparty/audience, and the same under /v1. */

import { within } from '../../../pipeline/runtime/deadline.ts';
import { segmentOf } from '../../../pipeline/stores/audiences.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { type Change, direct, type Prepare } from '../../http/change.ts';
import type { Context, Handler } from '../../http/context.ts';
import { createPublicAddress } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { jsonArray, mapEach, sendChunks } from '../../http/stream-json.ts';
import { checkPrefixLeftOut, parseId, validate } from '../../http/validate.ts';
import { filesOfAudience, toFileEntry } from '../../jobs/file-records.ts';
import { type DryRuns, isDryRun } from '../dry-runs/dry-runs.ts';
import type { Dependencies } from '../shared.ts';
import { readOpenLoads, resolveAudience, toAudience } from './audience-records.ts';
import { createListAudiences } from './list-audiences.ts';

/** How long the response waits for the audience document. Its job is already queued and creates it otherwise. */
const AUDIENCE_MS = 1_000;

export function createFirstpartyAudience(deps: Dependencies, dryRuns: DryRuns) {
  const { audiences, bodies, log, config } = deps;
  const addressOf = createPublicAddress(config);
  const pathOf = (ctx: Context) => ctx.path.replace(/\/$/, '');

  async function audienceOf(ctx: Context): Promise<AudienceDocument> {
    const audience = await resolveAudience(deps, ctx.state.scope, parseId(ctx.params.audience_id));
    if (!audience) throw notFound();
    return audience;
  }

  const get: Handler = async (ctx) => {
    const id = parseId(ctx.params.audience_id);
    const open = await readOpenLoads(deps, ctx.state.scope.partner, id);
    const audience = await audienceOf(ctx);
    const head = `${JSON.stringify(toAudience(audience, open, config.privacyFloor)).slice(0, -1)},"file":[`;
    const entries = mapEach(filesOfAudience(deps, id, audience.generation), toFileEntry);
    await sendChunks(ctx, 'application/json', jsonArray(entries, head, ']}'));
  };

  const create: Prepare = (ctx) => {
    const body = validate(bodies.createAudience, ctx.request.body);
    const { partner, customer } = ctx.state.scope;
    checkPrefixLeftOut(partner, body.file_path);
    const request = {
      kind: 'audience',
      partner,
      filePath: body.file_path,
      audienceName: body.name,
      customer,
    } as const;
    if (isDryRun(ctx)) return dryRuns.queue(ctx, request, customer);
    return {
      job: () => request,
      async answer(job) {
        // The job is queued, and dispatch creates the audience if this fails: the response is the same either way.
        await within(AUDIENCE_MS, audiences.ensure(job)).catch((error) =>
          log.warn(
            { err: error, job: job._id },
            'audience not created yet: dispatch creates it when it reaches the job',
          ),
        );
        return {
          status: 201,
          body: JSON.stringify({ audience_id: job._id, default_warehouse_segment_id: segmentOf(job._id) }),
          location: addressOf(`${pathOf(ctx)}/${job._id}`),
        };
      },
    };
  };

  const change: Prepare = (ctx) => {
    const { file_path: filePath, name } = validate(bodies.changeAudience, ctx.request.body);
    return filePath === undefined ? rename(ctx, name!) : append(ctx, filePath);
  };

  const rename = (ctx: Context, name: string): Change =>
    direct({
      intend: async () => (await audienceOf(ctx))._id,
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
        const { _id: audience, generation } = await audienceOf(ctx);
        return { kind: 'audience', partner, filePath, audience, generation };
      },
      answer: (job) => ({ status: 204, location: addressOf(`${pathOf(ctx)}/loads/${job._id}`) }),
    };
  }

  const clear: Prepare = (ctx) => {
    validate(bodies.nothing, ctx.request.body);
    return direct({
      // The generation that was meant, and nothing that was appended since.
      async intend() {
        const { _id, generation } = await audienceOf(ctx);
        return { id: _id, generation };
      },
      async apply({ id, generation }) {
        await audiences.clear(ctx.state.scope, id, generation);
        return { status: 204 };
      },
    });
  };

  const remove: Prepare = (ctx) => {
    validate(bodies.nothing, ctx.request.body);
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
  };

  return { list: createListAudiences(deps), get, create, change, clear, remove, audienceOf };
}
