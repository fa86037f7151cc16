/** …/audience/<id>/composition/share: a link that shows the report to anyone, without an account. */
import { segmentOf } from '../../../pipeline/stores/audiences.ts';
import { shareReport } from '../../../schemas/http.ts';
import { reportLink } from '../../../schemas/http-answers.ts';
import { sealShareLink } from '../../auth/share-links.ts';
import { answer, direct } from '../../http/change.ts';
import { change, type Operation } from '../../http/operation.ts';
import { Problem } from '../../http/problem.ts';
import { json } from '../../http/responses.ts';
import { audienceOf } from '../audiences/audience-records.ts';
import { audiencePath, type Dependencies, firstparty } from '../shared.ts';

export function shareOperation(deps: Dependencies): Operation {
  const { config } = deps;
  return change({
    ...firstparty,
    method: 'post',
    path: `${audiencePath}/:audience_id/composition/share`,
    // Passes on what the caller may read, and changes nothing.
    scopes: ['read'],
    operationId: 'shareComposition',
    summary: 'Share the report of an audience',
    description:
      'Returns a link that shows this report in the console, read-only, to everyone who has the link: as a customer sees it, without private attributes, file paths and other pages. The link ends when it expires, when the API key that created it ends, and when the audience is deleted.',
    body: { schema: shareReport, optional: true },
    responses: { 201: json(reportLink, 'The link') },
    problems: ['forbidden'],
    prepare(ctx, { expires_in }) {
      const { keyId: key, scope } = ctx.state;
      if (key === undefined)
        throw new Problem('forbidden', 'Only the partner can share a report: sign in with an API key.');
      return direct({
        async intend() {
          const audience = (await audienceOf(deps, ctx))._id;
          const expiresAt = Date.now() + expires_in * 1_000;
          const link = sealShareLink(config.secret, { partner: scope.partner, audience, key, expiresAt });
          return { audience, expiresAt, link };
        },
        async apply({ audience, expiresAt, link }) {
          const body = {
            url: ctx.state.addressOf(`/console/segments/${segmentOf(audience)}?share=${link}`),
            expires_at: new Date(expiresAt),
          };
          return answer(201, body);
        },
      });
    },
  });
}
