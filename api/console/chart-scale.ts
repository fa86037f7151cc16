/** Axes of the growth chart: round steps, up to at least the largest value. */
const ROUND = [1, 2, 2.5, 5, 10];

/** Zero and up to `count` round steps; the last is at least `max`. */
export function ticksUpTo(max: number, count = 4): number[] {
  const rough = Math.max(1, max) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.ceil(ROUND.find((factor) => factor * power >= rough)! * power);
  const steps = Math.max(1, Math.ceil(max / step));
  return Array.from({ length: steps + 1 }, (_, i) => i * step);
}

/** Labels every nth point, so that each label has this much space. */
export const labelEvery = (points: number, width: number, space: number): number =>
  Math.max(1, Math.ceil((points * space) / Math.max(1, width)));
