import { useEffect, useRef, useState } from 'preact/hooks';
import { count, plural, shortCount, shortTime } from '../../../client/format.ts';
import { type GrowthPoint, labelEvery, ticksUpTo } from '../../growth.ts';

const LEFT = 52;
const TOP = 12;
const HEIGHTS = { devices: 180, loads: 96 };
const GAP = 28;
const LABELS = 40;
const HEIGHT = TOP + HEIGHTS.devices + GAP + HEIGHTS.loads + LABELS;
/** Min space for the label of a load. */
const LABEL_SPACE = 96;
const MAX_BAR = 48;
/** With more points, the line alone is clearer. */
const MAX_DOTS = 60;

function useWidth() {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const resized = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    resized.observe(host.current!);
    return () => resized.disconnect();
  }, []);
  return { host, width };
}

/** Scale and grid of one of the two charts. */
function plotOf(top: number, height: number, max: number) {
  const ticks = ticksUpTo(max, height > 120 ? 4 : 3);
  const y = (value: number) => top + height - (value / ticks.at(-1)!) * height;
  return { ticks, y, bottom: top + height };
}

function Grid({ ticks, y, right }: { ticks: number[]; y: (value: number) => number; right: number }) {
  return (
    <g class="chart-grid">
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={LEFT} x2={right} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
            {shortCount(tick)}
          </text>
        </g>
      ))}
    </g>
  );
}

const describe = ({ load, at, devices, added, repeated, rejected }: GrowthPoint): string =>
  `Load ${load}, ${shortTime(at)}: ${plural(devices, 'device')}; ${count(added)} new, ${count(repeated)} already in audience, ${plural(rejected, 'row')} rejected`;

/** Beside its point, on the side that has space. */
function Label({ point, x, y, width }: { point: GrowthPoint; x: number; y: number; width: number }) {
  const isRight = x < width / 2;
  const style = {
    top: `${Math.max(0, y - 12)}px`,
    ...(isRight ? { left: `${x + 14}px` } : { right: `${width - x + 14}px` }),
  };
  return (
    <div class="chart-label" style={style}>
      <strong>{plural(point.devices, 'device')}</strong>
      <span>
        Load {point.load}, {shortTime(point.at)}
      </span>
      <span class="key key-new">{count(point.added)} new</span>
      <span class="key key-repeated">{count(point.repeated)} already in audience</span>
      {point.rejected > 0 && <span class="key key-rejected">{plural(point.rejected, 'row')} rejected</span>}
    </div>
  );
}

/** The table below has the same numbers. Pointer and arrow keys move from load to load. */
export function GrowthChart({ points }: { points: GrowthPoint[] }) {
  const { host, width } = useWidth();
  const [chosen, setChosen] = useState<number | null>(null);
  const at = chosen === null ? null : Math.min(chosen, points.length - 1);
  const right = Math.max(LEFT + 1, width - 4);
  const band = (right - LEFT) / points.length;
  const x = (i: number) => LEFT + (i + 0.5) * band;
  const devices = plotOf(TOP, HEIGHTS.devices, Math.max(...points.map((point) => point.devices)));
  const stack = (point: GrowthPoint) => point.added + point.repeated + point.rejected;
  const loads = plotOf(devices.bottom + GAP, HEIGHTS.loads, Math.max(...points.map(stack)));
  const bar = Math.min(MAX_BAR, band * 0.6);
  const every = labelEvery(points.length, right - LEFT, LABEL_SPACE);
  const line = points.map((point, i) => `${x(i)},${devices.y(point.devices)}`);
  const shown = at === null ? undefined : points[at];

  const follow = (event: PointerEvent) => {
    const from = (event.currentTarget as Element).getBoundingClientRect().left;
    const nearest = Math.floor((event.clientX - from - LEFT) / band);
    setChosen(Math.max(0, Math.min(points.length - 1, nearest)));
  };
  const step = (event: KeyboardEvent) => {
    const to = { ArrowLeft: (at ?? points.length) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: Infinity }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(points.length - 1, to)));
  };
  return (
    <figure class="growth card">
      <p class="legend">
        <span class="key key-line">Devices in the audience</span>
        <span class="key key-new">New devices</span>
        <span class="key key-repeated">Already in audience</span>
        <span class="key key-rejected">Rejected rows</span>
      </p>
      <div
        class="chart"
        ref={host}
        role="slider"
        tabIndex={0}
        aria-label="Growth by load"
        aria-valuemin={1}
        aria-valuemax={points.length}
        aria-valuenow={(at ?? points.length - 1) + 1}
        aria-valuetext={describe(shown ?? points.at(-1)!)}
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => setChosen(null)}
        onBlur={() => setChosen(null)}
        onKeyDown={step}
      >
        {width > 0 && (
          <svg viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
            <Grid {...devices} right={right} />
            <Grid {...loads} right={right} />
            {shown && <line class="chart-cursor" x1={x(at!)} x2={x(at!)} y1={TOP} y2={loads.bottom} />}
            <polygon
              class="chart-area"
              points={`${x(0)},${devices.bottom} ${line.join(' ')} ${x(points.length - 1)},${devices.bottom}`}
            />
            <polyline class="chart-line" points={line.join(' ')} />
            {points.map((point, i) => {
              const known = point.added + point.repeated;
              const part = (name: string, from: number, to: number) =>
                to > from && (
                  <rect
                    class={`chart-${name}`}
                    x={x(i) - bar / 2}
                    width={bar}
                    y={loads.y(to)}
                    height={loads.y(from) - loads.y(to)}
                  />
                );
              return (
                <g key={point.load} data-load={point.load}>
                  {part('new', 0, point.added)}
                  {part('repeated', point.added, known)}
                  {part('rejected', known, stack(point))}
                  {(points.length <= MAX_DOTS || i === at) && (
                    <circle
                      class="chart-dot"
                      cx={x(i)}
                      cy={devices.y(point.devices)}
                      r={i === at ? 5.5 : 3.5}
                    />
                  )}
                  {i % every === 0 && (
                    <text class="chart-name" x={x(i)} y={loads.bottom + 18} text-anchor="middle">
                      Load {point.load}
                      <tspan x={x(i)} dy="15" class="chart-when">
                        {shortTime(point.at)}
                      </tspan>
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
        )}
        {shown && <Label point={shown} x={x(at!)} y={devices.y(shown.devices)} width={width} />}
      </div>
    </figure>
  );
}
