/**
 * The lease of an edit on its pages. The orphan sweep removes unreferenced pages of edits much older than a lease, so an edit may reference
 * its pages only while it holds the lease. A lease lasts an hour and is renewed with progress, because a large deletion takes longer. A
 * process that was suspended meanwhile has lost the lease and starts over.
 */
import type { Pages } from './pages.ts';
import { Raced } from './races.ts';
import { renewalId } from './regions.ts';

const LEASE_MS = 3_600_000;
/** Shorter edits write no renewal. */
const RENEW_MS = LEASE_MS / 6;

export function createLease(pages: Pick<Pages, 'renew'>, manifest: string, token: string, since: number) {
  let begun = since;
  const hasEnded = () => Date.now() - begun > LEASE_MS;
  return {
    hasEnded,
    isRenewed: () => begun > since,
    /** Call it with each step of progress. */
    async renew(): Promise<void> {
      const now = Date.now();
      if (now - begun < RENEW_MS) return;
      if (hasEnded()) throw new Raced();
      await pages.renew(renewalId(manifest, token), new Date(now));
      begun = now;
    },
  };
}
