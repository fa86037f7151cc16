/** Charges the bytes of dry runs to the partner's daily quota, atomically, so that concurrent runs stay within it. */
import type { JobError } from '../../schemas/job-documents.ts';
import { type DefaultQuotas, quotasOf } from '../accept/quotas.ts';
import type { Retry } from '../engine/retry.ts';
import { problem } from '../stages/dispatch/list/find-objects.ts';
import { keepPartners } from '../stores/partners.ts';
import type { Stores } from '../stores/stores.ts';
import { dayOf } from '../stores/usage.ts';

export function createSpendBytes(
  deps: Pick<Stores, 'partners' | 'usage'> & DefaultQuotas & { retry: Retry },
) {
  const lookUp = keepPartners(deps.partners);

  return async (partner: string, bytes: number, signal: AbortSignal): Promise<JobError | undefined> => {
    const day = dayOf(new Date());
    const count = () => deps.usage.addBytes(partner, day, bytes);
    const used = await deps.retry('count the bytes of a dry run', count, signal);
    const { bytesPerDay } = quotasOf(await lookUp(partner), deps);
    if (bytesPerDay === 0 || used <= bytesPerDay) return undefined;
    return problem(
      'quota_exceeded',
      `Your quota for ${day} is ${bytesPerDay} bytes; the dry run ended there.`,
    );
  };
}
