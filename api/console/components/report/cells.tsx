import { count, indexNumber, percent } from '../../format.ts';
import { Bar } from '../bar.tsx';

/** A cell that the privacy floor hides; 0 and every number under the floor look the same. */
export const Hidden = ({ floor }: { floor: number }) => (
  <span class="hidden-cell" title={`Hidden: under ${count(floor)}`}>
    under {count(floor)}
  </span>
);

export const CountCell = ({ value, floor }: { value: number | null; floor: number }) =>
  value === null ? <Hidden floor={floor} /> : <span>{count(value)}</span>;

/** `largest` is the share that fills the bar. */
export function ShareCell({ share, largest }: { share: number | null; largest: number }) {
  if (share === null) return <span class="hidden-cell">hidden</span>;
  return (
    <span class="share" title={`${share * 100}%`}>
      <Bar fraction={largest > 0 ? share / largest : 0} />
      <span>{percent(share)}</span>
    </span>
  );
}

export const IndexCell = ({ index }: { index: number | null }) =>
  index === null ? (
    <span class="hidden-cell">hidden</span>
  ) : (
    <span title={String(index)}>{indexNumber(index)}</span>
  );
