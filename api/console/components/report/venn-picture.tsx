import { count, percent } from '../../../client/format.ts';
import type { Composition } from '../../../client/types.ts';
import { vennOf } from '../../venn.ts';

interface Circles {
  name: string;
  devices: number;
  otherName: string;
  other: number;
  common: number;
  /** The area of one device. */
  unit: number;
}

const SPACE = { width: 240, height: 132, margin: 4 };

/** The largest area per device for which these sets fit side by side. */
export const unitFor = (sizes: { devices: number; other: number }[]): number =>
  Math.min(
    ...sizes.map(({ devices, other }) => {
      const [a, b] = [Math.sqrt(devices), Math.sqrt(other)];
      const byHeight = (SPACE.height / 2 - SPACE.margin) / Math.max(a, b);
      const byWidth = (SPACE.width - 2 * SPACE.margin) / 2 / (a + b);
      return Math.PI * Math.min(byHeight, byWidth) ** 2;
    }),
  );

export function VennCircles({ name, devices, otherName, other, common, unit }: Circles) {
  const { radius, otherRadius, distance } = vennOf(devices, other, common, unit);
  const wide = Math.max(radius, distance + otherRadius) - Math.min(-radius, distance - otherRadius);
  const left = (SPACE.width - wide) / 2 - Math.min(-radius, distance - otherRadius);
  return (
    <svg
      class="venn"
      viewBox={`0 0 ${SPACE.width} ${SPACE.height}`}
      role="img"
      aria-label={`${name}: ${count(devices)} devices; ${otherName}: ${count(other)}; in both: ${count(common)}`}
    >
      <circle class="venn-this" cx={left} cy={SPACE.height / 2} r={radius} />
      <circle class="venn-other" cx={left + distance} cy={SPACE.height / 2} r={otherRadius} />
    </svg>
  );
}

const MAX_SHOWN = 4;

/** The largest overlaps, on one scale. The table has all. */
export function OverlapPicture({ report }: { report: Composition }) {
  const shown = report.overlaps.slice(0, MAX_SHOWN).map((overlap) => ({
    ...overlap,
    common: overlap.devices,
    other: Math.round(overlap.devices / overlap.share_of_other),
  }));
  const sizes = shown.map(({ other }) => ({ devices: report.unique_devices, other }));
  const unit = unitFor(sizes);
  return (
    <figure class="overlap-picture card">
      <p class="legend">
        <span class="key key-this">{report.name}</span>
        <span class="key key-other">The other audience</span>
      </p>
      <ul>
        {shown.map(({ audience_id, name, other, common, share_of_this, share_of_other }) => (
          <li key={audience_id}>
            <VennCircles
              name={report.name}
              devices={report.unique_devices}
              otherName={name}
              other={other}
              common={common}
              unit={unit}
            />
            <p class="venn-name clamp" title={name}>
              {name}
            </p>
            <p class="quiet numbers">
              {count(common)} in both: {percent(share_of_this)} of this audience, {percent(share_of_other)} of
              the other
            </p>
          </li>
        ))}
      </ul>
    </figure>
  );
}
