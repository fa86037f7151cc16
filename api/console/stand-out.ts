/** What stands out in an audience: attributes that are far more or far less common in it than in the marketplace. */
import type { Composition } from '../client/types.ts';

export type Attribute = Composition['attributes'][number];

/** The bar of an index reaches from a quarter of the average to four times of it. */
const WIDEST = 4;

/** -1 to 1 on a logarithmic scale, so that half and twice as common are equally far from the average. */
export const deviation = (index: number): number =>
  Math.max(-1, Math.min(1, Math.log(index / 100) / Math.log(WIDEST)));

/** Two standard deviations: a smaller difference from the expected count may be chance. */
const SIGNIFICANT = 2;

/** Of devices drawn at random from the marketplace, `expected` would have the attribute, give or take its square root. */
export function isByChance({ devices, index }: Pick<Attribute, 'devices' | 'index'>): boolean {
  const expected = (100 * devices) / index;
  return Math.abs(devices - expected) < SIGNIFICANT * Math.sqrt(expected);
}

/** Rounded: of attributes with about the same index, the one with more devices comes first. */
const strength = (row: Attribute) =>
  isByChance(row) ? 0 : Math.round(1_000 * Math.abs(Math.log(row.index / 100)));

/** The largest deviations first, in either direction; what may be chance comes last, most devices first. */
export const byStandingOut = (attributes: readonly Attribute[]): Attribute[] =>
  [...attributes].sort(
    (a, b) => strength(b) - strength(a) || b.devices - a.devices || a.attribute_id - b.attribute_id,
  );

const SEPARATOR = ' > ';

/** Partners name attributes as taxonomies do: `Travel > Air > Frequent flyers` is in the category `Travel > Air`. */
export function categoryOf(name: string): { category: string; label: string } {
  const at = name.lastIndexOf(SEPARATOR);
  if (at <= 0 || at + SEPARATOR.length >= name.length) return { category: '', label: name };
  return { category: name.slice(0, at), label: name.slice(at + SEPARATOR.length) };
}
