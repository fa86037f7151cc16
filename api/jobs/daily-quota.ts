/**
 * Refuses jobs of a partner whose daily quota is used up. Jobs count when they end; dispatch refuses those in flight when it lists
 * their files (stages/dispatch/admit/hold-quotas.ts).
 */
import { LRUCache } from 'lru-cache';
import type { JobRequest } from '../../pipeline/accept/new-job.ts';
import { hasDailyQuota } from '../../pipeline/accept/quotas.ts';
import { cached } from '../../pipeline/runtime/cached.ts';
import type { JobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { dayOf, type Usage, type UsageStore } from '../../pipeline/stores/usage.ts';
import type { PartnerQuotas } from '../../schemas/partner-documents.ts';
import { Problem } from '../http/problem.ts';

/** How long the usage is cached. */
const KEPT_MS = 1_000;
const MAX_KEPT = 10_000;
const DAY_MS = 86_400_000;

const secondsUntilMidnight = (now: number) => String(Math.ceil((DAY_MS - (now % DAY_MS)) / 1_000));

export type DailyQuota = ReturnType<typeof createDailyQuota>;

export function createDailyQuota(usage: UsageStore, jobs: Pick<JobStore, 'hasToken'>) {
  const kept = new LRUCache<string, Promise<Usage>>({ max: MAX_KEPT, ttl: KEPT_MS });

  return {
    /** Does not apply to deletions, which load nothing, nor to a retry of an accepted request. */
    async check({ kind, partner, requestToken }: JobRequest, quotas: Required<PartnerQuotas>): Promise<void> {
      if (kind === 'delete' || kind === 'privacy' || !hasDailyQuota(quotas)) return;
      const now = Date.now();
      const day = dayOf(new Date(now));
      const used = await cached(kept, `${partner}/${day}`, () => usage.of(partner, day));
      const { bytesPerDay, rowsPerDay } = quotas;
      const what = [
        ...(bytesPerDay > 0 && used.bytes >= bytesPerDay ? [`${bytesPerDay} bytes`] : []),
        ...(rowsPerDay > 0 && used.rows >= rowsPerDay ? [`${rowsPerDay} rows`] : []),
      ];
      if (what.length === 0 || (requestToken !== undefined && (await jobs.hasToken(requestToken)))) return;
      throw new Problem(
        'quota_exceeded',
        `Daily limit of ${what.join(' and ')} reached. Nothing was queued; retry after midnight UTC.`,
        { headers: { 'Retry-After': secondsUntilMidnight(now) } },
      );
    },
  };
}
