/** Charts as inline SVG, without scripts or libraries. The page's style makes them readable in light and dark. */

import { shortCount } from '../../../api/client/format.ts';
import { Html, html } from '../../../api/describe/asyncapi/html.ts';

export interface Point {
  /** Seconds. */
  at: number;
  value: number;
}

const WIDTH = 960;
const LEFT = 64;
const RIGHT = 16;
const TOP = 12;
const BOTTOM = 28;
const MAX_POINTS = 400;

/** The smallest 1, 2 or 5 times a power of ten that needs at most five steps. */
export function niceStep(max: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(max, 1e-9) / 5));
  return power * [1, 2, 5, 10].find((factor) => factor * power * 5 >= max * 0.999999)!;
}

interface Axes {
  height: number;
  maxX: number;
  maxY: number;
  stepY: number;
  x(value: number): string;
  y(value: number): string;
}

/** Steps of counts are at least one: there are no half jobs. */
function axesOf(maxX: number, maxY: number, height: number): Axes {
  const stepY = Math.max(1, niceStep(maxY));
  const top = stepY * Math.max(1, Math.ceil(maxY / stepY - 1e-9));
  const plotWidth = WIDTH - LEFT - RIGHT;
  const plotHeight = height - TOP - BOTTOM;
  return {
    height,
    maxX,
    maxY: top,
    stepY,
    x: (value) => (LEFT + (value / maxX) * plotWidth).toFixed(1),
    y: (value) => (TOP + plotHeight - (value / top) * plotHeight).toFixed(1),
  };
}

function ticks(max: number, step: number): number[] {
  return Array.from({ length: Math.floor(max / step + 1e-9) + 1 }, (_, n) => n * step);
}

const label = (value: number) => (value >= 1_000 ? shortCount(value) : String(Number(value.toPrecision(3))));

const grid = ({ x, y, maxX, maxY, stepY, height }: Axes): Html[] => [
  ...ticks(maxY, stepY).map(
    (value) => html`<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>
<text x="${LEFT - 8}" y="${Number(y(value)) + 4}" text-anchor="end">${label(value)}</text>`,
  ),
  ...ticks(maxX, niceStep(maxX)).map(
    (value) => html`<text x="${x(value)}" y="${height - 8}" text-anchor="middle">${label(value)} s</text>`,
  ),
];

const figure = (title: string, height: number, content: Html[]): Html =>
  html`<div class="scroll" tabindex="0"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">${content}</svg></div>`;

const largest = (values: readonly number[]) => values.reduce((max, value) => Math.max(max, value), 0);

/** Averages points if there are more than pixels. */
function thinned(points: readonly Point[]): Point[] {
  const size = Math.ceil(points.length / MAX_POINTS);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, n) => {
    const group = points.slice(n * size, (n + 1) * size);
    return { at: group.at(-1)!.at, value: group.reduce((sum, { value }) => sum + value, 0) / group.length };
  });
}

export function overTime(title: string, points: readonly Point[]): Html {
  const shown = thinned([{ at: 0, value: 0 }, ...points]);
  const last = Math.max(shown.at(-1)!.at, 1e-3);
  const axes = axesOf(last, largest(shown.map(({ value }) => value)) || 1, 220);
  const path = shown.map(({ at, value }) => `${axes.x(at)},${axes.y(value)}`).join(' ');
  return figure(title, axes.height, [
    ...grid(axes),
    html`<polygon class="area" points="${axes.x(0)},${axes.y(0)} ${path} ${axes.x(last)},${axes.y(0)}"/>`,
    html`<polyline class="line" points="${path}"/>`,
  ]);
}

const BINS = 40;

/** Distribution of durations. `max`: the common scale of charts to compare. */
export function histogram(title: string, values: readonly number[], max: number): Html {
  const width = Math.max(max, 1e-3) / BINS;
  const bins = new Array<number>(BINS).fill(0);
  for (const value of values) bins[Math.min(BINS - 1, Math.floor(value / width))]!++;
  const axes = axesOf(width * BINS, largest(bins) || 1, 130);
  const bars = bins.map((count, n) => {
    if (count === 0) return new Html('');
    const [from, to] = [Number(axes.x(n * width)), Number(axes.x((n + 1) * width))];
    const height = Number(axes.y(0)) - Number(axes.y(count));
    return html`<rect class="bar" x="${from + 1}" width="${(to - from - 2).toFixed(1)}" y="${axes.y(count)}" height="${height.toFixed(1)}"/>`;
  });
  return figure(title, axes.height, [...grid(axes), ...bars]);
}
