/** Group B: /v2/firstparty/audience, and the same under /v1. */

import { z } from 'zod';
import { faultPoint } from '../../pipeline/runtime/fault-points.ts';
import { clearAudience, ensureAudience, segmentOf } from '../../pipeline/stores/audiences.ts';
import { fixIntent } from '../../pipeline/stores/idempotency.ts';
import type { JobRequest } from '../../pipeline/stores/new-job.ts';
import type { AudienceDocument, JobDocument } from '../../schemas/documents.ts';
import type { Context, Dependencies, Handler } from '../context.ts';
import { type Answer, claim, keepAnswer, queueOnce, send } from '../idempotent.ts';
import { parseId } from '../ids.ts';
import { notFound } from '../problem.ts';
import { jsonArray, sendChunks } from '../stream-json.ts';
import { validate } from '../validate.ts';
import { listAudiences, readOpenLoads, resolveAudience, toAudience } from './audience-records.ts';
import { filesOfAudience, listedLoads, toFileEntry } from './file-records.ts';

const MOST_LISTED = 1_000;
const wholeNumber = (most: number, message: string) =>
  z
    .string(message)
    .regex(/^[1-9][0-9]{0,15}$/, message)
    .transform(Number)
    .refine((number) => number <= most, message);
const listQuery = z.object({
  limit: wholeNumber(MOST_LISTED, `must be a number from 1 to ${MOST_LISTED}`).optional(),
  cursor: wholeNumber(Number.MAX_SAFE_INTEGER, 'must be the cursor of a Link header').optional(),
});

async function* mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield map(item);
}

export function createFirstpartyAudience(deps: Dependencies) {
  const { db, bodies, log } = deps;

  async function audienceOf(ctx: Context): Promise<AudienceDocument> {
    const audience = await resolveAudience(db, ctx.state.scope, parseId(ctx.params.audience_id));
    if (!audience) throw notFound();
    return audience;
  }

  const list: Handler = async (ctx) => {
    const { limit, cursor: before } = validate(listQuery, { ...ctx.query }, 'invalid_query');
    const open = await readOpenLoads(db, ctx.state.scope.partner);
    const record = (audience: AudienceDocument) => toAudience(audience, open);
    if (limit === undefined) {
      const audiences = listAudiences(db, ctx.state.scope, { before });
      return sendChunks(ctx, 'application/json', jsonArray(mapEach(audiences, record)));
    }
    const found = await listAudiences(db, ctx.state.scope, { before, limit: limit + 1 }).toArray();
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', `<${ctx.path}?limit=${limit}&cursor=${page.at(-1)!._id}>; rel="next"`);
    send(ctx, { status: 200, body: JSON.stringify(page.map(record)) });
  };

  const get: Handler = async (ctx) => {
    const id = parseId(ctx.params.audience_id);
    const open = await readOpenLoads(db, ctx.state.scope.partner, id);
    const audience = await audienceOf(ctx);
    const loads = await listedLoads(db, id, audience.generation);
    const head = `${JSON.stringify(toAudience(audience, open)).slice(0, -1)},"file":[`;
    const entries = mapEach(filesOfAudience(db, id, audience.generation, loads), toFileEntry);
    await sendChunks(ctx, 'application/json', jsonArray(entries, head, ']}'));
  };

  const load = (ctx: Context, filePath: string, audience: AudienceDocument | null): JobRequest => ({
    kind: 'audience',
    partner: ctx.state.scope.partner,
    filePath,
    pathType: 0,
    keyType: null,
    compressed: null,
    keys: null,
    attributes: null,
    audience: audience?._id ?? null,
    generation: audience?.generation ?? null,
  });

  const create: Handler = async (ctx) => {
    const body = validate(bodies.createAudience, ctx.request.body);
    const request = {
      ...load(ctx, body.file_path, null),
      audienceName: body.name,
      customer: ctx.state.scope.customer,
    };
    const answer = await queueOnce(deps, ctx, request, async (job: JobDocument): Promise<Answer> => {
      // The job is queued, and dispatch makes the audience if this does not: the answer stands either way.
      await ensureAudience(db, job).catch((error) =>
        log.warn({ err: error, job: job._id }, 'audience not made yet'),
      );
      return {
        status: 201,
        body: JSON.stringify({ audience_id: job._id, default_warehouse_segment_id: segmentOf(job._id) }),
        location: `${ctx.path.replace(/\/$/, '')}/${job._id}`,
      };
    });
    send(ctx, answer);
  };

  const append: Handler = async (ctx) => {
    const body = validate(bodies.appendFiles, ctx.request.body);
    const audience = await audienceOf(ctx);
    send(ctx, await queueOnce(deps, ctx, load(ctx, body.file_path, audience), () => ({ status: 204 })));
  };

  const clear: Handler = async (ctx) => {
    validate(bodies.nothing, ctx.request.body);
    const { _id, generation } = await audienceOf(ctx);
    const mark = await claim(deps, ctx);
    if (mark?.status === undefined) {
      // A repetition clears the generation that the first try meant, and nothing that was appended since.
      const meant = mark ? Number(await fixIntent(db, mark, String(generation))) : generation;
      faultPoint('api:before-clear');
      await clearAudience(db, ctx.state.scope, _id, meant);
      faultPoint('api:after-clear');
      if (mark) keepAnswer(deps, mark, { status: 204 });
    }
    send(ctx, { status: 204 });
  };

  return { list, get, create, append, clear, audienceOf };
}
