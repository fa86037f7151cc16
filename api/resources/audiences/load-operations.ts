/** …/audience/<id>/loads: every load of an audience with its status, counts and errors. */

import { pageQuery } from '../../../schemas/http-queries.ts';
import { send } from '../../http/change.ts';
import type { Handler } from '../../http/context.ts';
import { createPublicAddress, nextPage, readQuery } from '../../http/pages.ts';
import { notFound } from '../../http/problem.ts';
import { jsonArray, mapEach, sendChunks } from '../../http/stream-json.ts';
import { parseId } from '../../http/validate.ts';
import { filesOfJob, toFileReport } from '../../jobs/file-records.ts';
import { linkRejects } from '../../jobs/reject-records.ts';
import type { Dependencies } from '../shared.ts';
import type { createFirstpartyAudience } from './audience-operations.ts';
import { type ShownLoad, shownOfLoad, toLoad } from './load-records.ts';

const LISTED = 100;

export function createAudienceLoads(
  deps: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  const { jobs, config } = deps;
  const addressOf = createPublicAddress(config);

  const list: Handler = async (ctx) => {
    const { limit = LISTED, cursor } = readQuery(ctx, pageQuery);
    const audience = await audienceOf(ctx);
    const found = await jobs.listLoads(audience, shownOfLoad, { limit: limit + 1, before: cursor });
    const page = found.slice(0, limit);
    if (found.length > limit)
      ctx.set('Link', nextPage(addressOf(ctx.path), { limit, cursor: page.at(-1)!._id }));
    const record = (load: ShownLoad) => toLoad(load, audience);
    send(ctx, { status: 200, body: JSON.stringify(page.map(record)) });
  };

  const get: Handler = async (ctx) => {
    const id = parseId(ctx.params.load_id);
    const audience = await audienceOf(ctx);
    const load = await jobs.findLoad(audience, id, shownOfLoad);
    if (!load) throw notFound();
    linkRejects(ctx, load, addressOf(ctx.path.replace(/\/loads\/.*/, '/rejects')));
    const head = `${JSON.stringify(toLoad(load, audience)).slice(0, -1)},"file":[`;
    await sendChunks(
      ctx,
      'application/json',
      jsonArray(mapEach(filesOfJob(deps, load), toFileReport), head, ']}'),
    );
  };

  return { list, get };
}
