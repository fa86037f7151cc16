import { useEffect, useRef, useState } from 'preact/hooks';
import { count, exactTime, plural } from '../../../client/format.ts';
import type { GrowthPoint } from '../../growth.ts';
import { useStore } from '../../store.ts';
import { theme } from '../../theme.ts';

/** Changes when the system turns from light to dark. */
function useSystemTheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const update = () => setDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return isDark;
}

const describe = ({ at, devices, added, repeated, rejected }: GrowthPoint): string =>
  `${exactTime(at)}: ${count(added)} new, ${count(repeated)} already in audience, ${plural(rejected, 'row')} rejected; ${plural(devices, 'device')} in total`;

/** The table below has the same numbers for screen readers. */
export function GrowthChart({ points }: { points: GrowthPoint[] }) {
  const host = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const choice = useStore(theme);
  const isDark = useSystemTheme();
  useEffect(() => {
    const element = host.current!;
    let stop = () => {};
    let isGone = false;
    const draw = async () => {
      const { drawGrowth } = await import('../../chart-uplot.ts');
      if (isGone) return;
      const charts = drawGrowth(element, points, setAt);
      const resized = new ResizeObserver(() => charts.resize(element.clientWidth));
      resized.observe(element);
      stop = () => {
        resized.disconnect();
        charts.destroy();
      };
    };
    draw().catch((error: unknown) => {
      console.warn(error);
      setFailed(true);
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [points, choice, isDark]);
  const shown = points[at ?? points.length - 1]!;
  // For instance because the page was opened before an update that has other files.
  if (hasFailed) return <p class="quiet">The chart could not be loaded. The table below has its numbers.</p>;
  return (
    <figure class="growth">
      <p class="legend">
        <span class="key key-line">Devices in the audience</span>
        <span class="key key-new">New devices</span>
        <span class="key key-repeated">Already in audience</span>
        <span class="key key-rejected">Rejected rows</span>
      </p>
      <div
        class="growth-charts"
        ref={host}
        role="img"
        aria-label={`Growth over ${plural(points.length, 'load')}; the table below has the numbers`}
      />
      <figcaption class="quiet numbers">{describe(shown)}</figcaption>
    </figure>
  );
}
