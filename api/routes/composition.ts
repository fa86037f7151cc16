/** …/audience/<id>/composition: what an audience consists of, computed when somebody asks. */
import { z } from 'zod';
import type { CompositionReport } from '../../schemas/composition-documents.ts';
import type { AudienceDocument } from '../../schemas/documents.ts';
import type { Computing } from '../composition/reports.ts';
import type { Context, Dependencies, Handler } from '../context.ts';
import { direct, type Prepare } from '../idempotent.ts';
import { jsonArray, sendChunks } from '../stream-json.ts';
import { validate } from '../validate.ts';
import { compositionCsv } from './composition-csv.ts';
import { type ShownComposition, showComposition } from './composition-records.ts';
import type { createFirstpartyAudience } from './firstparty-audience.ts';

const compositionQuery = z.object({
  format: z.enum(['json', 'csv'], 'must be json or csv').optional(),
  previous: z.enum(['true', 'false'], 'must be true or false').optional(),
});
export const compositionParameters = Object.keys(compositionQuery.shape);

const RETRY_SECONDS = '1';

export function createComposition(
  deps: Dependencies,
  { audienceOf }: Pick<ReturnType<typeof createFirstpartyAudience>, 'audienceOf'>,
) {
  const { compositionReports, compositions, config } = deps;

  const show = (ctx: Context, audience: AudienceDocument, report: CompositionReport, current: boolean) =>
    showComposition(deps, { audience, report, current, scope: ctx.state.scope, floor: config.privacyFloor });

  async function sendReport(ctx: Context, shown: ShownComposition, format: 'json' | 'csv'): Promise<void> {
    if (format === 'json') return sendChunks(ctx, 'application/json', compositionJson(shown));
    ctx.attachment(`audience-${shown.summary.audience_id}-composition.csv`);
    await sendChunks(ctx, 'text/csv; charset=utf-8', compositionCsv(shown));
  }

  async function sendProgress(
    ctx: Context,
    audience: AudienceDocument,
    asked: Computing,
    previous?: CompositionReport,
  ): Promise<void> {
    const before = progressHead(asked);
    const body = previous
      ? compositionJson(await show(ctx, audience, previous, false), before, '}')
      : whole(`${before}null}`);
    await sendChunks(ctx, 'application/json', body);
    ctx.status = 202;
    ctx.set('Retry-After', RETRY_SECONDS);
    ctx.set('Cache-Control', 'no-store');
  }

  const get: Handler = async (ctx) => {
    const query = validate(compositionQuery, { ...ctx.query }, 'invalid_query');
    const audience = await audienceOf(ctx);
    const asked = await compositionReports.ask(audience);
    if ('claim' in asked) {
      const { _id } = audience;
      const wanted = query.previous === 'true' ? asked.previous : undefined;
      return sendProgress(ctx, audience, asked, wanted && (await compositions.report(_id, wanted.token)));
    }
    ctx.vary('Accept');
    const accepted = ctx.accepts('application/json', 'text/csv') === 'text/csv' ? 'csv' : 'json';
    const shown = await show(ctx, audience, asked.report, asked.current);
    await sendReport(ctx, shown, query.format ?? accepted);
  };

  /** Computing a report twice is no different from computing it once. */
  const compute: Prepare = (ctx) =>
    direct({
      intend: async () => void (await audienceOf(ctx)),
      async apply() {
        const asked = await compositionReports.askAnew(await audienceOf(ctx));
        return { status: 202, body: `${progressHead(asked)}null}`, retryAfter: RETRY_SECONDS };
      },
    });

  return { get, compute };
}

/** Up to the report that there was before. */
const progressHead = ({ claim: { progress, startedAt } }: Computing) =>
  `{"progress":${progress},"started_at":${JSON.stringify(startedAt)},"previous":`;

function compositionJson(shown: ShownComposition, before = '', after = ''): AsyncGenerator<string> {
  const { summary, attributes, events, overlaps } = shown;
  const head = `${before}${JSON.stringify(summary).slice(0, -1)},"attributes":[`;
  const tail = `],"events":${JSON.stringify(events)},"overlaps":${JSON.stringify(overlaps)}}${after}`;
  return jsonArray(attributes, head, tail);
}

async function* whole(text: string): AsyncGenerator<string> {
  yield text;
}
