/** First-party audiences: /v2/firstparty/audience, and the same under /v1. */

import { within } from '../../pipeline/runtime/deadline.ts';
import { faultPoint } from '../../pipeline/runtime/fault-points.ts';
import { segmentOf } from '../../pipeline/stores/audiences.ts';
import type { AudienceDocument, JobDocument } from '../../schemas/documents.ts';
import type { Context, Dependencies, Handler } from '../context.ts';
import { type Answer, claim, keepAnswer, queueOnce, send } from '../idempotent.ts';
import { parseId } from '../ids.ts';
import { stopIfGivenUp } from '../middleware/limit-time.ts';
import { notFound } from '../problem.ts';
import { createPublicAddress } from '../public-address.ts';
import { jsonArray, mapEach, sendChunks } from '../stream-json.ts';
import { validate } from '../validate.ts';
import { readOpenLoads, resolveAudience, toAudience } from './audience-records.ts';
import { type DryRuns, isDryRun } from './dry-runs.ts';
import { filesOfAudience, toFileEntry } from './file-records.ts';
import { createListAudiences } from './list-audiences.ts';
import { checkPrefixLeftOut } from './own-prefix.ts';

/** How long the response waits for the audience document. Its job is already queued and creates it otherwise. */
const AUDIENCE_MS = 1_000;

export function createFirstpartyAudience(deps: Dependencies, dryRuns: DryRuns) {
  const { audiences, idempotency, bodies, log, config } = deps;
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

  const create: Handler = async (ctx) => {
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
    const answer = await queueOnce(deps, ctx, request, async (job: JobDocument): Promise<Answer> => {
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
    });
    send(ctx, answer);
  };

  /** What takes effect at once, and is answered with 204. A repeated request does what the first one meant. */
  async function applyOnce(ctx: Context, intent: string, apply: (meant: string) => Promise<unknown>) {
    const mark = await claim(deps, ctx);
    if (mark?.status === undefined) {
      const meant = mark ? await idempotency.fixIntent(mark, intent) : intent;
      faultPoint('api:before-change');
      stopIfGivenUp(ctx);
      await apply(meant);
      faultPoint('api:after-change');
      if (mark) keepAnswer(deps, mark, { status: 204 });
    }
    send(ctx, { status: 204 });
  }

  const change: Handler = async (ctx) => {
    const { file_path: filePath, name } = validate(bodies.changeAudience, ctx.request.body);
    if (filePath !== undefined) return append(ctx, filePath);
    const { _id } = await audienceOf(ctx);
    await applyOnce(ctx, '', () => audiences.rename(ctx.state.scope, _id, name!));
  };

  async function append(ctx: Context, filePath: string): Promise<void> {
    const { partner } = ctx.state.scope;
    checkPrefixLeftOut(partner, filePath);
    const { _id: audience, generation } = await audienceOf(ctx);
    const request = { kind: 'audience', partner, filePath, audience, generation } as const;
    const queued = (job: JobDocument): Answer => ({
      status: 204,
      location: addressOf(`${pathOf(ctx)}/loads/${job._id}`),
    });
    send(ctx, await queueOnce(deps, ctx, request, queued));
  }

  const clear: Handler = async (ctx) => {
    validate(bodies.nothing, ctx.request.body);
    const { _id, generation } = await audienceOf(ctx);
    // The generation that was meant, and nothing that was appended since.
    await applyOnce(ctx, String(generation), (meant) => audiences.clear(ctx.state.scope, _id, Number(meant)));
  };

  const remove: Handler = async (ctx) => {
    validate(bodies.nothing, ctx.request.body);
    const id = parseId(ctx.params.audience_id);
    const { scope } = ctx.state;
    if (!(await resolveAudience(deps, scope, id)) && !(await audiences.isDeleted(scope, id)))
      throw notFound();
    await applyOnce(ctx, '', () => audiences.delete(scope, id));
  };

  return { list: createListAudiences(deps), get, create, change, clear, remove, audienceOf };
}
