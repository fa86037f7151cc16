/** Two circles with areas and intersection proportional to the sets. */

/** The area of the intersection of two circles. */
export function lensArea(a: number, b: number, distance: number): number {
  if (distance >= a + b) return 0;
  if (distance <= Math.abs(a - b)) return Math.PI * Math.min(a, b) ** 2;
  const angle = (one: number, other: number) =>
    Math.acos((distance ** 2 + one ** 2 - other ** 2) / (2 * distance * one));
  const segment = (radius: number, half: number) => radius ** 2 * (half - Math.sin(half) * Math.cos(half));
  return segment(a, angle(a, b)) + segment(b, angle(b, a));
}

const STEPS = 40;

/** The distance of the centres for this intersection. */
function distanceFor(a: number, b: number, area: number): number {
  let [near, far] = [Math.abs(a - b), a + b];
  for (let step = 0; step < STEPS; step++) {
    const middle = (near + far) / 2;
    if (lensArea(a, b, middle) > area) near = middle;
    else far = middle;
  }
  return (near + far) / 2;
}

interface Venn {
  radius: number;
  otherRadius: number;
  distance: number;
}

/** `unit`: the area of one device. */
export function vennOf(devices: number, other: number, common: number, unit: number): Venn {
  const radiusOf = (count: number) => Math.sqrt((count * unit) / Math.PI);
  const [radius, otherRadius] = [radiusOf(devices), radiusOf(other)];
  return { radius, otherRadius, distance: distanceFor(radius, otherRadius, common * unit) };
}
