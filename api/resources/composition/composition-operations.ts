/** …/audience/<id>/composition: what an audience consists of, computed on request. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CompositionReport } from '../../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../../schemas/documents.ts';
import { composition, compositionProgress, overlapRow } from '../../../schemas/http-composition.ts';
import { compositionQuery, pageQuery } from '../../../schemas/http-queries.ts';
import { direct, send, sendJson } from '../../http/change.ts';
import type { Context } from '../../http/context.ts';
import { change, type Operation, read } from '../../http/operation.ts';
import { LISTED, setNextPage } from '../../http/pages.ts';
import { json, link, retryAfter, tagged } from '../../http/responses.ts';
import { sendChunks } from '../../http/stream-json.ts';
import { answerTagged } from '../../http/tag-answer.ts';
import { audienceOf } from '../audiences/audience-records.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';
import { compositionCsv } from './composition-csv.ts';
import { createShowComposition, type ShownComposition } from './composition-records.ts';
import type { Computing } from './reports.ts';

const path = `${audiencePath}/:audience_id/composition`;
const RETRY_SECONDS = '1';

const report = json(composition, 'The report');
const computing = json(compositionProgress, 'The report is being computed: ask again', {
  headers: retryAfter,
});

export function compositionOperations(deps: Dependencies): Operation[] {
  const { compositionReports, compositions, config } = deps;
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
      isShared: ctx.state.onlyAudience !== undefined,
      floor: config.privacyFloor,
      ownOnly,
    });

  async function sendReport(ctx: Context, shown: ShownComposition, format: 'json' | 'csv'): Promise<void> {
    ctx.status = 200;
    ctx.set('Cache-Control', 'private, no-cache');
    // Before reading the rows: a client with this version needs none of them.
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
    if (previous) await sendChunks(ctx, 'application/json', compositionJson(await previous(), before, '}'));
    else send(ctx, { status: 202, body: `${before}null}` });
    ctx.status = 202;
    ctx.set('Retry-After', RETRY_SECONDS);
    ctx.set('Cache-Control', 'no-store');
  }

  const get = read({
    ...firstparty,
    path,
    operationId: 'getComposition',
    summary: 'Get the composition of an audience',
    description:
      'The marketplace attributes of the audience’s devices with their owners, its events, and its overlaps with your other audiences. Counts are exact. Attributes that are private to another partner are left out; for a customer, also those that are private to you. If something has changed since the last report, a request starts a new one: the response is 202 with the progress; poll until it is 200. On a busy service a report may be outdated by the time it is computed; it is then returned for ten seconds, with `current: false`.',
    query: compositionQuery,
    isShared: true,
    responses: {
      ...tagged({ ...report, content: { ...report.content, 'text/csv': { schema: z.string() } } }),
      202: computing,
    },
    problems: ['too_many_pending'],
    async handle(ctx, query) {
      const ownOnly = query.attributes === 'own';
      const audience = await audienceOf(deps, ctx);
      const asked = await compositionReports.ask(audience, ctx.state.scope.customer);
      if ('claim' in asked) {
        const wanted = query.previous === 'true' ? asked.previous : undefined;
        const last = wanted && (await compositions.report(audience._id, wanted.token));
        return sendProgress(
          ctx,
          asked,
          last && (() => show(ctx, audience, { report: last, current: false }, ownOnly)),
        );
      }
      ctx.vary('Accept');
      const accepted = ctx.accepts('application/json', 'text/csv') === 'text/csv' ? 'csv' : 'json';
      await sendReport(ctx, await show(ctx, audience, asked, ownOnly), query.format ?? accepted);
    },
  });

  const listOverlaps = read({
    ...firstparty,
    path: `${path}/overlaps`,
    operationId: 'listOverlaps',
    summary: 'List the overlaps of an audience',
    description:
      'All overlaps of the report, most devices first, in pages of 100 unless `limit` is given. An audience is compared with the 1,000 largest others; for an audience of a customer, those of the same customer take precedence. If something has changed, the report is computed first (202).',
    query: pageQuery,
    isShared: true,
    responses: { ...tagged(json(z.array(overlapRow), 'Overlaps', { headers: link })), 202: computing },
    problems: ['too_many_pending'],
    /** The cursor is a position in the list. */
    async handle(ctx, { limit = LISTED, cursor = 0 }) {
      const audience = await audienceOf(deps, ctx);
      const asked = await compositionReports.ask(audience, ctx.state.scope.customer);
      if ('claim' in asked) return sendProgress(ctx, asked);
      const { overlaps } = await show(ctx, audience, asked);
      const end = cursor + limit;
      if (end < overlaps.length) setNextPage(ctx, { limit, cursor: end });
      sendJson(ctx, overlaps.slice(cursor, end));
    },
  });

  const compute = change({
    ...firstparty,
    method: 'post',
    path,
    // It computes a report and changes nothing.
    scopes: ['read'],
    operationId: 'computeComposition',
    summary: 'Recompute the composition',
    description:
      'Computes the report even if it is current, unless a computation is in flight. Takes no body.',
    responses: { 202: computing },
    problems: ['too_many_pending'],
    /** Idempotent by nature, so the intent is empty. */
    prepare: (ctx) =>
      direct({
        intend: async () => void (await audienceOf(deps, ctx)),
        async apply() {
          const audience = await audienceOf(deps, ctx);
          const asked = await compositionReports.askAnew(audience, ctx.state.scope.customer);
          return { status: 202, body: `${progressHead(asked)}null}`, retryAfter: RETRY_SECONDS };
        },
      }),
  });

  return [get, listOverlaps, compute];
}

/** The JSON up to the previous report. */
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
  // The others are listed in pages.
  const largest = overlaps.slice(0, LISTED);
  yield `],"events":${JSON.stringify(events)},"overlaps":${JSON.stringify(largest)}}${after}`;
}
