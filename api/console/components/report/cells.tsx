import { count, indexNumber, percent } from '../../../client/format.ts';
import { Bar } from '../basics.tsx';

/** A cell that the privacy floor hides. */
const Hidden = ({ floor }: { floor: number }) => (
  <span class="hidden-cell" title={`Hidden: under ${count(floor)}`}>
    under {count(floor)}
  </span>
);

export const CountCell = ({ value, floor }: { value: number | null; floor: number }) =>
  value === null ? <Hidden floor={floor} /> : <span>{count(value)}</span>;

/** `largest` is the share that fills the bar. */
export const ShareCell = ({ share, largest }: { share: number; largest: number }) => (
  <span class="share" title={`${share * 100}%`}>
    <Bar fraction={largest > 0 ? share / largest : 0} />
    <span>{percent(share)}</span>
  </span>
);

export const IndexCell = ({ index }: { index: number }) => (
  <span title={String(index)}>{indexNumber(index)}</span>
);
