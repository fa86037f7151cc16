/** Partners as every request needs them: looked up at most once in three seconds each, however many requests there are. */
import { LRUCache } from 'lru-cache';
import { cached } from '../pipeline/runtime/cached.ts';
import type { PartnerStore } from '../pipeline/stores/partners.ts';
import type { PartnerDocument } from '../schemas/documents.ts';
import { Problem } from './problem.ts';

/** A suspended partner is refused everywhere within five seconds: this, and the time of one lookup. */
const KEPT_MS = 3_000;
const MAX_KEPT = 10_000;

export type KnownPartners = ReturnType<typeof createKnownPartners>;

export function createKnownPartners(partners: Pick<PartnerStore, 'lookUp'>) {
  const kept = new LRUCache<string, Promise<PartnerDocument | null>>({ max: MAX_KEPT, ttl: KEPT_MS });
  const lookUp = (id: string) => cached(kept, id, () => partners.lookUp(id));
  const isSuspended = async (id: string) => (await lookUp(id))?.suspendedAt !== undefined;

  return {
    lookUp,
    isSuspended,
    async refuseSuspended(id: string): Promise<void> {
      if (await isSuspended(id))
        throw new Problem('partner_suspended', 'Your access is suspended. Ask the operator of this service.');
    },
  };
}
