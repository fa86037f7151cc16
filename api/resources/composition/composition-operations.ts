/** …/audience/<id>/composition: what an audience consists of, computed when somebody asks. */
import { createHash } from 'node:crypto';
import type { CompositionReport } from '../../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { compositionQuery, pageQuery } from '../../../schemas/http-queries.ts';
import { direct, type Prepare, send } from '../../http/change.ts';
import type { Context, Handler } from '../../http/context.ts';
import { createPublicAddress, nextPage, parametersOf, readQuery } from '../../http/pages.ts';
import { sendChunks } from '../../http/stream-json.ts';
import { answerTagged } from '../../http/tag-answer.ts';
import type { createFirstpartyAudience } from '../audiences/audience-operations.ts';
import type { Dependencies } from '../shared.ts';
import { compositionCsv } from './composition-csv.ts';
import { createShowComposition, type ShownComposition } from './composition-records.ts';
import type { Computing } from './reports.ts';

export const compositionParameters = parametersOf(compositionQuery);

const RETRY_SECONDS = '1';
/** In the report; the others are listed in pages. */
export const OVERLAPS_SHOWN = 100;

export function createComposition(
  deps: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  const { compositionReports, compositions, config } = deps;
  const addressOf = createPublicAddress(config);
  const showComposition = createShowComposition(deps);

  const show = (
    ctx: Context,
    audience: AudienceDocument,
    { report, current }: { report: CompositionReport; current: boolean },
    ownOnly = false,
  ) =>
    showComposition({
      audience,
      report,
      current,
      scope: ctx.state.scope,
      floor: config.privacyFloor,
      ownOnly,
    });

  async function sendReport(ctx: Context, shown: ShownComposition, format: 'json' | 'csv'): Promise<void> {
    ctx.status = 200;
    ctx.set('Cache-Control', 'private, no-cache');
    // Before its rows are read: whoever has this version already needs none of them.
    answerTagged(ctx, tagOf(shown, format));
    if (ctx.status === 304) return;
    if (format === 'json') return sendChunks(ctx, 'application/json', compositionJson(shown));
    ctx.attachment(`audience-${shown.summary.audience_id}-composition.csv`);
    await sendChunks(ctx, 'text/csv; charset=utf-8', compositionCsv(shown));
  }

  async function sendProgress(
    ctx: Context,
    asked: Computing,
    previous?: () => Promise<ShownComposition>,
  ): Promise<void> {
    const before = progressHead(asked);
    const body = previous ? compositionJson(await previous(), before, '}') : whole(`${before}null}`);
    await sendChunks(ctx, 'application/json', body);
    ctx.status = 202;
    ctx.set('Retry-After', RETRY_SECONDS);
    ctx.set('Cache-Control', 'no-store');
  }

  const get: Handler = async (ctx) => {
    const query = readQuery(ctx, compositionQuery);
    const ownOnly = query.attributes === 'own';
    const audience = await audienceOf(ctx);
    const asked = await compositionReports.ask(audience, ctx.state.scope.customer);
    if ('claim' in asked) {
      const wanted = query.previous === 'true' ? asked.previous : undefined;
      const report = wanted && (await compositions.report(audience._id, wanted.token));
      return sendProgress(
        ctx,
        asked,
        report && (() => show(ctx, audience, { report, current: false }, ownOnly)),
      );
    }
    ctx.vary('Accept');
    const accepted = ctx.accepts('application/json', 'text/csv') === 'text/csv' ? 'csv' : 'json';
    await sendReport(ctx, await show(ctx, audience, asked, ownOnly), query.format ?? accepted);
  };

  /** A cursor is a place in the list. */
  const listOverlaps: Handler = async (ctx) => {
    const { limit = OVERLAPS_SHOWN, cursor = 0 } = readQuery(ctx, pageQuery);
    const audience = await audienceOf(ctx);
    const asked = await compositionReports.ask(audience, ctx.state.scope.customer);
    if ('claim' in asked) return sendProgress(ctx, asked);
    const { overlaps } = await show(ctx, audience, asked);
    const end = cursor + limit;
    if (end < overlaps.length) ctx.set('Link', nextPage(addressOf(ctx.path), { limit, cursor: end }));
    send(ctx, { status: 200, body: JSON.stringify(overlaps.slice(cursor, end)) });
  };

  /** Computing a report twice is no different from computing it once. */
  const compute: Prepare = (ctx) =>
    direct({
      intend: async () => void (await audienceOf(ctx)),
      async apply() {
        const asked = await compositionReports.askAnew(await audienceOf(ctx), ctx.state.scope.customer);
        return { status: 202, body: `${progressHead(asked)}null}`, retryAfter: RETRY_SECONDS };
      },
    });

  return { get, listOverlaps, compute };
}

/** Up to the report that there was before. */
const progressHead = ({ claim: { progress, startedAt } }: Computing) =>
  `{"progress":${progress},"started_at":${JSON.stringify(startedAt)},"previous":`;

function tagOf({ summary, events, overlaps, version }: ShownComposition, format: string): string {
  const text = JSON.stringify([format, summary, events, overlaps, version]);
  return `"${createHash('sha1').update(text).digest('base64url')}"`;
}

async function* compositionJson(
  { summary, events, overlaps, attributeRows }: ShownComposition,
  before = '',
  after = '',
): AsyncGenerator<string | Buffer> {
  yield `${before}${JSON.stringify(summary).slice(0, -1)},"attributes":[`;
  let separator = '';
  for await (const rows of attributeRows('json')) {
    yield separator;
    // Each row ends with a comma.
    yield rows.subarray(0, -1);
    separator = ',';
  }
  const largest = overlaps.slice(0, OVERLAPS_SHOWN);
  yield `],"events":${JSON.stringify(events)},"overlaps":${JSON.stringify(largest)}}${after}`;
}

async function* whole(text: string): AsyncGenerator<string> {
  yield text;
}
