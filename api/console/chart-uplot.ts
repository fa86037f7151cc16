/** The charts of the report, drawn by uPlot. Loaded with the first report that has something to draw. */

import uPlot from 'uplot';
import { shortCount, shortTime } from '../client/format.ts';
import type { GrowthPoint } from './growth.ts';

interface GrowthCharts {
  resize(width: number): void;
  destroy(): void;
}

const HEIGHTS = { devices: 200, loads: 150 };
const AXIS_WIDTH = 56;

/** A canvas knows no variables of the style sheet. */
function colorsOf(host: HTMLElement) {
  const probe = host.appendChild(document.createElement('span'));
  const resolve = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    text: resolve('muted'),
    grid: resolve('line'),
    accent: resolve('accent'),
    soft: resolve('accent-soft'),
    repeated: resolve('repeated'),
    rejected: resolve('rejected'),
  };
  probe.remove();
  return colors;
}
type Colors = ReturnType<typeof colorsOf>;

const font = '12px system-ui, sans-serif';

function optionsOf(points: GrowthPoint[], colors: Colors, onHover: (at: number | null) => void) {
  const labels = points.map(({ at }) => shortTime(at));
  const axis = { stroke: colors.text, font, grid: { stroke: colors.grid, width: 1 }, ticks: { show: false } };
  return {
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'growth' } },
    scales: {
      x: { time: false, range: (): uPlot.Range.MinMax => [-0.5, points.length - 0.5] },
      y: { range: (_: uPlot, __: number, max: number): uPlot.Range.MinMax => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 96,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
        values: (_: uPlot, at: number[]) => at.map((index) => labels[index] ?? ''),
      },
      { ...axis, size: AXIS_WIDTH, space: 28, values: (_: uPlot, at: number[]) => at.map(shortCount) },
    ],
    hooks: { setCursor: [(plot: uPlot) => onHover(plot.cursor.idx ?? null)] },
  };
}

export function drawGrowth(
  host: HTMLElement,
  points: GrowthPoint[],
  onHover: (at: number | null) => void,
): GrowthCharts {
  const colors = colorsOf(host);
  const shared = optionsOf(points, colors, onHover);
  const width = host.clientWidth;
  const x = points.map((_, at) => at);
  const bars = uPlot.paths.bars!({ size: [0.6, 48] });
  const bar = (fill: string): uPlot.Series => ({ paths: bars, fill, width: 0, points: { show: false } });
  // Stacked: the tallest first, so that the parts below are drawn over it.
  const stacks = [
    points.map(({ added, repeated, rejected }) => added + repeated + rejected),
    points.map(({ added, repeated }) => added + repeated),
    points.map(({ added }) => added),
  ];
  const line = {
    stroke: colors.accent,
    fill: colors.soft,
    width: 2,
    points: { show: points.length < 60, size: 6 },
  };
  const charts = [
    new uPlot(
      { ...shared, width, height: HEIGHTS.devices, series: [{}, line] },
      [x, points.map(({ devices }) => devices)],
      host,
    ),
    new uPlot(
      {
        ...shared,
        width,
        height: HEIGHTS.loads,
        series: [{}, bar(colors.rejected), bar(colors.repeated), bar(colors.accent)],
      },
      [x, ...stacks],
      host,
    ),
  ];
  return {
    resize: (to) => {
      for (const chart of charts) chart.setSize({ width: to, height: chart.height });
    },
    destroy: () => {
      for (const chart of charts) chart.destroy();
    },
  };
}
