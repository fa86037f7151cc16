import type { ComponentChildren } from 'preact';
import { count, indexNumber, percent } from '../../../client/format.ts';
import { type Attribute, deviation, isByChance } from '../../stand-out.ts';
import { Bar } from '../basics.tsx';
import type { Column } from '../report-table.tsx';

/** A cell that the privacy floor hides. */
const Hidden = ({ floor }: { floor: number }) => (
  <span class="hidden-cell" title={`Hidden: under ${count(floor)}`}>
    under {count(floor)}
  </span>
);

export const CountCell = ({ value, floor }: { value: number | null; floor: number }) =>
  value === null ? <Hidden floor={floor} /> : <span>{count(value)}</span>;

/** All share bars have the same scale: the full width is 100 %. */
export const ShareCell = ({ share, of = 'this' }: { share: number; of?: 'this' | 'other' }) => (
  <span class={`share share-${of}`} title={`${share * 100}%`}>
    <Bar fraction={share} />
    <span>{percent(share)}</span>
  </span>
);

interface ShareOptions<T> {
  label: string;
  share: (row: T) => number;
  /** Whose share: of this audience, or of the other one of a pair. */
  of?: 'this' | 'other';
  hint?: string;
}

export const shareColumn = <T,>({ label, share, of = 'this', hint }: ShareOptions<T>): Column<T> => ({
  id: of === 'this' ? 'share' : 'share-other',
  label,
  isNumber: true,
  hint,
  cell: (row) => <ShareCell share={share(row)} of={of} />,
  sortBy: share,
});

/** A bar from the middle to the left or right; `value` is from -1 to 1. */
function Diverging({ value, kind, children }: { value: number; kind: string; children: ComponentChildren }) {
  const width = `${Math.max(1, Math.abs(value) * 50)}%`;
  const style = value < 0 ? { right: '50%', width } : { left: '50%', width };
  return (
    <span class="diverging">
      <span class="diverging-bar" aria-hidden="true">
        <span class={`diverging-fill diverging-${kind}`} style={style} />
      </span>
      <span>{children}</span>
    </span>
  );
}

const kindOf = (value: number) => (value < 0 ? 'under' : 'over');

export function IndexCell({ row }: { row: Attribute }) {
  const value = deviation(row.index);
  const byChance = isByChance(row);
  return (
    <span title={byChance ? `${row.index}: may be chance` : String(row.index)}>
      <Diverging value={value} kind={byChance ? 'chance' : kindOf(value)}>
        {indexNumber(row.index)}
      </Diverging>
    </span>
  );
}

const points = new Intl.NumberFormat('en', { maximumFractionDigits: 1, signDisplay: 'exceptZero' });
export const pointsOf = (difference: number): string => points.format(difference * 100);

/** The difference of two shares in percentage points; the bar of the largest difference fills its half. */
export const DifferenceCell = ({ difference, largest }: { difference: number; largest: number }) => (
  <Diverging value={largest > 0 ? difference / largest : 0} kind={kindOf(difference)}>
    {pointsOf(difference)}
  </Diverging>
);
