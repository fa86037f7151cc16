/** What stands out in an audience: attributes much more or much less common in it than in the marketplace. */
import type { Composition } from '../client/types.ts';

export type Attribute = Composition['attributes'][number];

/** Bars range from a quarter of the average to four times the average. */
const WIDEST = 4;

/** -1 to 1 on a logarithmic scale, so that half and twice as common are equally far from the average. */
export const deviation = (index: number): number =>
  Math.max(-1, Math.min(1, Math.log(index / 100) / Math.log(WIDEST)));

/** Two standard deviations: a smaller difference from the expected count may be chance. */
const SIGNIFICANT = 2;

/** Of devices drawn at random from the marketplace, `expected` would have the attribute, with its square root as standard deviation. */
export function isByChance({ devices, index }: Pick<Attribute, 'devices' | 'index'>): boolean {
  const expected = (100 * devices) / index;
  return Math.abs(devices - expected) < SIGNIFICANT * Math.sqrt(expected);
}

/** Rounded, so that attributes with about the same index are ordered by devices. */
const strength = (row: Attribute) =>
  isByChance(row) ? 0 : Math.round(1_000 * Math.abs(Math.log(row.index / 100)));

/** Largest deviations first, in either direction; deviations that may be chance come last, most devices first. */
export const byStandingOut = (attributes: readonly Attribute[]): Attribute[] =>
  [...attributes].sort(
    (a, b) => strength(b) - strength(a) || b.devices - a.devices || a.attribute_id - b.attribute_id,
  );

const SEPARATOR = ' > ';

/** Names often follow a taxonomy: `Travel > Air > Frequent flyers` is in the category `Travel > Air`. */
export function categoryOf(name: string): { category: string; label: string } {
  const at = name.lastIndexOf(SEPARATOR);
  if (at <= 0 || at + SEPARATOR.length >= name.length) return { category: '', label: name };
  return { category: name.slice(0, at), label: name.slice(at + SEPARATOR.length) };
}
