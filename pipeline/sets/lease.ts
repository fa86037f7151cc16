/**
 * The lease of an edit on its pages. A sweep removes pages that no manifest names when their edit is much older than a lease, so an edit
 * may name its pages only while it has the lease. It has it for an hour, and renews it while it makes progress: a large deletion takes
 * longer. A process that was suspended meanwhile finds that it has lost the lease, and starts over.
 */
import type { Pages } from './pages.ts';
import { Raced } from './races.ts';
import { renewalId } from './regions.ts';

const LEASE_MS = 3_600_000;
/** An edit of less than this writes no renewal. */
const RENEW_MS = LEASE_MS / 6;

export function createLease(pages: Pick<Pages, 'renew'>, manifest: string, token: string, since: number) {
  let begun = since;
  const hasEnded = () => Date.now() - begun > LEASE_MS;
  return {
    hasEnded,
    isRenewed: () => begun > since,
    /** To be called with each step of progress. */
    async renew(): Promise<void> {
      const now = Date.now();
      if (now - begun < RENEW_MS) return;
      if (hasEnded()) throw new Raced();
      await pages.renew(renewalId(manifest, token), new Date(now));
      begun = now;
    },
  };
}
