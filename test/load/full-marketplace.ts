/** A marketplace of many attributes. Half of each attribute's devices are shared with other attributes, the other half are its own. */
import type { Bench } from './bench-stack.ts';
import { storeAttributes } from './store-space.ts';

interface MarketplaceOptions {
  readonly attributes: number;
  /** Devices per attribute. */
  readonly attributeDevices: number;
  /** Devices with lower numbers have several attributes. */
  readonly shared: number;
  /** Devices with numbers in [shared, apart) have no attribute. */
  readonly apart: number;
  readonly seed: number;
}

export interface Marketplace {
  readonly attributes: readonly number[];
  readonly devices: number;
  /** How many of the shared devices each attribute has. */
  readonly common: number;
}

export async function storeMarketplace(bench: Bench, options: MarketplaceOptions): Promise<Marketplace> {
  const { attributeDevices, shared, apart, seed } = options;
  const attributes = await bench.stack.attributes(options.attributes);
  const half = Math.min(shared, Math.round(attributeDevices / 2));
  const own = attributeDevices - half;
  const step = (shared - half) / Math.max(1, attributes.length - 1);
  if (step > half) throw new Error(`${shared} devices are too many to have an attribute each`);
  const keys = attributes.map((key, i) => {
    const first = Math.floor(i * step);
    const ownFirst = apart + i * own;
    return { key, ranges: [[first, first + half] as const, [ownFirst, ownFirst + own] as const] };
  });
  await storeAttributes(bench, { seed, numbers: apart + attributes.length * own, keys });
  return { attributes, devices: shared + attributes.length * own, common: half };
}
