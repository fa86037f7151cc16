/** A chart of one load as plain SVG: rows/s over time, and CPU time by process and by stage. */
import { count } from './format.ts';
import type { PrefixResult } from './scenarios/one-prefix.ts';

const WIDTH = 860;
const LEFT = 90;
const PLOT_WIDTH = WIDTH - LEFT - 40;
const PLOT_HEIGHT = 220;
const BAR_HEIGHT = 20;
const BAR_GAP = 8;
const ink = '#1f2933';
const faint = '#d5dbe1';
const series = '#2563a8';
const accent = '#c2410c';
/** A halo keeps text readable on top of lines. */
const halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"';

const escaped = (raw: string) => raw.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const text = (x: number, y: number, content: string, attributes = '') =>
  `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;
const rule = (x1: number, y1: number, x2: number, y2: number, attributes: string) =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" ${attributes}/>`;

/** The smallest 1, 2 or 5 times a power of ten that covers the maximum in at most five steps. */
function niceStep(max: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(max, 1e-9) / 5));
  return power * [1, 2, 5, 10].find((factor) => factor * power * 5 >= max)!;
}

interface Point {
  readonly at: number;
  readonly value: number;
}

function ratesOf({ use }: PrefixResult): Point[] {
  const { samples } = use.pipeline;
  return samples.slice(1).map(({ at, rows }, i) => {
    const before = samples[i]!;
    return { at, value: at > before.at ? (rows - before.rows) / (at - before.at) : 0 };
  });
}

function areaOverTime(result: PrefixResult, top: number): string {
  const points: Point[] = [{ at: 0, value: 0 }, ...ratesOf(result)];
  const lastAt = Math.max(points.at(-1)!.at, result.seconds);
  const step = niceStep(Math.max(...points.map(({ value }) => value), result.rowsPerSecond));
  const max = step * Math.ceil(Math.max(...points.map(({ value }) => value), result.rowsPerSecond) / step);
  const bottom = top + PLOT_HEIGHT;
  const x = (at: number) => LEFT + (at / lastAt) * PLOT_WIDTH;
  const y = (value: number) => bottom - (value / max) * PLOT_HEIGHT;
  const parts: string[] = [];
  for (let value = 0; value <= max + step / 2; value += step) {
    parts.push(rule(LEFT, y(value), LEFT + PLOT_WIDTH, y(value), `stroke="${faint}"`));
    parts.push(text(LEFT - 8, y(value) + 4, count(value), 'text-anchor="end"'));
  }
  const secondsStep = niceStep(lastAt);
  for (let at = 0; at <= lastAt; at += secondsStep) {
    parts.push(text(x(at), bottom + 18, `${Number(at.toFixed(2))} s`, 'text-anchor="middle"'));
  }
  const line = points.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const end = x(points.at(-1)!.at).toFixed(1);
  parts.push(
    `<polygon points="${x(0)},${bottom} ${line} ${end},${bottom}" fill="${series}" opacity="0.18"/>`,
  );
  parts.push(`<polyline points="${line}" fill="none" stroke="${series}" stroke-width="2"/>`);
  const level = (value: number, label: string, colour: string) => {
    parts.push(
      rule(LEFT, y(value), LEFT + PLOT_WIDTH, y(value), `stroke="${colour}" stroke-dasharray="6 4"`),
    );
    parts.push(text(LEFT + PLOT_WIDTH, y(value) - 6, label, `text-anchor="end" fill="${colour}" ${halo}`));
  };
  level(result.rowsPerSecond, `POST to done: ${count(result.rowsPerSecond)} rows/s`, ink);
  if (result.baseline)
    level(
      result.baseline.rowsPerSecond,
      `bulk upserts: ${count(result.baseline.rowsPerSecond)} rows/s`,
      accent,
    );
  return parts.join('\n');
}

function bars(values: readonly (readonly [string, number])[], top: number, unit: string): string {
  const max = Math.max(...values.map(([, value]) => value), 1e-9);
  const total = values.reduce((sum, [, value]) => sum + value, 0) || 1;
  return values
    .map(([name, value], i) => {
      const y = top + i * (BAR_HEIGHT + BAR_GAP);
      const width = Math.max(1, (value / max) * (PLOT_WIDTH - 150));
      const label = `${value.toFixed(2)} ${unit}, ${((100 * value) / total).toFixed(0)} %`;
      return [
        text(LEFT - 8, y + 15, name, 'text-anchor="end"'),
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" fill="${series}" rx="2"/>`,
        text(LEFT + width + 8, y + 15, label),
      ].join('\n');
    })
    .join('\n');
}

export function drawChart(result: PrefixResult): string {
  const { options, use } = result;
  const byValue = (entries: [string, number][]) => entries.toSorted((a, b) => b[1] - a[1]);
  const cpu = byValue(Object.entries(use.processes).map(([name, { cpuSeconds }]) => [name, cpuSeconds]));
  const stages = byValue(Object.entries(use.pipeline.stageSeconds));
  const title = `layout ${options.layout}${options.gzip ? ', gzip' : ''}, ${count(options.rows)} rows in ${options.files} files`;
  const heading = (y: number, content: string) => text(16, y, content, 'font-weight="600"');
  const parts: string[] = [];
  let y = 34;
  parts.push(text(16, y, title, 'font-size="17" font-weight="600"'));
  y += 30;
  parts.push(heading(y, 'rows read per second, over time'));
  y += 16;
  parts.push(areaOverTime(result, y));
  y += PLOT_HEIGHT + 56;
  for (const [name, values] of [
    ['CPU seconds by process', cpu],
    ['seconds by stage (messages in flight, including waits, summed over partitions)', stages],
  ] as const) {
    if (values.length === 0) continue;
    parts.push(heading(y, name));
    parts.push(bars(values, y + 14, 's'));
    y += 14 + values.length * (BAR_HEIGHT + BAR_GAP) + 34;
  }
  const style = `font-family="system-ui, sans-serif" font-size="13" fill="${ink}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y - 10}" viewBox="0 0 ${WIDTH} ${y - 10}" ${style}>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`;
}
