/** Additions to the specification: the caller's account, and the partner's quotas and usage. */
import { quotasOf } from '../../../pipeline/accept/quotas.ts';
import { account, usage as usageAnswer } from '../../../schemas/http-account.ts';
import { usageQuery } from '../../../schemas/http-queries.ts';
import { keyScopes } from '../../../schemas/partner-documents.ts';
import { sendJson } from '../../http/change.ts';
import { type Operation, read } from '../../http/operation.ts';
import { json, tagged } from '../../http/responses.ts';
import type { Dependencies } from '../shared.ts';

const DEFAULT_DAYS = 7;

export function accountOperations(deps: Dependencies): Operation[] {
  const { apiKeys, partners, usage, jobs, config } = deps;

  const get = read({
    tag: 'Account',
    access: 'user',
    // Any key may read its own account.
    scopes: [],
    path: '/v1/account',
    operationId: 'getAccount',
    summary: 'Get the account of the caller',
    description: 'The partner, the API key with its scopes, and the customer that the user token names.',
    responses: tagged(json(account, 'The account')),
    async handle(ctx) {
      const { scope, keyId } = ctx.state;
      const { name, prefix } = await partners.find(scope.partner);
      const key = keyId === undefined ? null : await apiKeys.find(keyId);
      sendJson(ctx, {
        partner_id: scope.partner,
        name,
        customer: scope.customer,
        prefix: scope.customer === null ? prefix : null,
        key: key && {
          key: `hr_${key._id}`,
          label: key.label ?? null,
          scopes: key.scopes ?? keyScopes,
          expires_at: key.expiresAt ?? null,
        },
      });
    },
  });

  const getUsage = read({
    tag: 'Account',
    access: 'partner',
    path: '/v1/usage',
    operationId: 'getUsage',
    summary: 'Get quotas and usage',
    description:
      'Your quotas, and your usage per day (UTC), newest first; days without loads are left out. A job counts when it ends, for the day on which it was accepted.',
    query: usageQuery,
    responses: tagged(json(usageAnswer, 'Quotas and usage')),
    async handle(ctx, { days = DEFAULT_DAYS }) {
      const { partner } = ctx.state.scope;
      const quotas = quotasOf(await partners.find(partner), config);
      const loaded = await usage.list(partner, days);
      sendJson(ctx, {
        pending_jobs: await jobs.countPending(partner, quotas.pendingJobs),
        quotas: {
          pending_jobs: quotas.pendingJobs,
          bytes_per_day: quotas.bytesPerDay || null,
          rows_per_day: quotas.rowsPerDay || null,
        },
        days: loaded.map(({ day, jobs, bytes, rows }) => ({ day, jobs, bytes, rows })),
      });
    },
  });

  return [get, getUsage];
}
