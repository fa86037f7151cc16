/** The attribute rows of a report: adds names to counts, and leaves out attributes private to another partner. */
import type { Stores } from '../../../pipeline/stores/stores.ts';
import type { AttributeRow } from './attribute-rows.ts';

/** Devices of the audience that have the attribute. */
type Counted = [attribute: number, devices: number];

export interface CountedAudience {
  partner: string;
  devices: number;
  marketplaceDevices: number;
}

export function createDescribeAttributes({
  attributes,
  attributeDevices,
  partners,
}: Pick<Stores, 'attributes' | 'attributeDevices' | 'partners'>) {
  return async (
    counted: readonly Counted[],
    { partner, devices, marketplaceDevices }: CountedAudience,
  ): Promise<AttributeRow[]> => {
    const ids = counted.map(([id]) => id);
    const [described, held] = await Promise.all([attributes.describe(ids), attributeDevices.of(ids)]);
    const owners = await partners.namesOf([...new Set([...described.values()].map((one) => one.partner))]);
    return counted.flatMap(([id, common]): AttributeRow[] => {
      const attribute = described.get(id);
      const own = attribute?.partner === partner;
      if (!attribute || (attribute.isPrivate && !own)) return [];
      const share = common / devices;
      return [
        {
          attribute_id: id,
          name: attribute.name,
          owner: owners.get(attribute.partner) ?? '',
          own,
          visibility: attribute.isPrivate ? 'private' : 'public',
          devices: common,
          share,
          // The counts are not one snapshot while a job commits: never show a part larger than the whole.
          index: (100 * share * marketplaceDevices) / Math.max(common, held.get(id) ?? 0),
        },
      ];
    });
  };
}
