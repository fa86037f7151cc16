/** Partners as every request needs them. A suspended one is refused everywhere within five seconds. */
import { keepPartners, type PartnerStore } from '../../pipeline/stores/partners.ts';
import { Problem } from '../http/problem.ts';

export type KnownPartners = ReturnType<typeof createKnownPartners>;

export function createKnownPartners(partners: Pick<PartnerStore, 'lookUp'>) {
  const lookUp = keepPartners(partners);
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
