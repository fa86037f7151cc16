/** The state of each figure of the report: known, computing, hidden, failed or not available yet. */

import { count, percent } from '../client/format.ts';
import type { Audience, Composition } from '../client/types.ts';
import { isOpen } from '../client/words.ts';

/** A number and its state, always shown together. */
export type FigureState =
  | { kind: 'loading' }
  | { kind: 'not-yet'; why: string }
  | { kind: 'computing'; progress: number }
  | { kind: 'hidden'; floor: number }
  | { kind: 'failed'; why: string }
  | { kind: 'known'; value: string; note?: string | undefined; isOutdated?: boolean };

type Report = Pick<
  Composition,
  'computed_at' | 'floor' | 'unique_devices' | 'matched_devices' | 'match_rate'
>;

export interface ReportState {
  report: Report | null;
  computing: { progress: number } | null;
  /** Why the last computation failed. */
  failure?: string | undefined;
}

type CountedAudience = Pick<Audience, 'status' | 'unique_devices' | 'matched_devices'>;

/** Whether the audience itself has changed since. Changes of the marketplace do not count: it always changes. */
export const isOutdated = (report: Report, audience: CountedAudience): boolean =>
  report.unique_devices !== audience.unique_devices;

/** A number from the audience's record. */
export function recordFigure(audience: CountedAudience, value: number): FigureState {
  if (value === 0 && isOpen(audience.status)) return { kind: 'not-yet', why: 'first load in progress' };
  return {
    kind: 'known',
    value: count(value),
    note: isOpen(audience.status) ? 'load in progress' : undefined,
  };
}

function known(value: string, report: Report, state: ReportState, audience: CountedAudience): FigureState {
  if (!isOutdated(report, audience)) return { kind: 'known', value };
  const note = state.computing
    ? `updating, ${percent(state.computing.progress)}`
    : state.failure
      ? 'out of date: computing failed'
      : 'out of date';
  return { kind: 'known', value, note, isOutdated: true };
}

/** Before the first report: matches as counted by the loads. */
function countedByLoads(
  { matched_devices: matched }: CountedAudience,
  state: ReportState,
  show: (matched: number) => string,
): FigureState {
  if (matched > 0) return { kind: 'known', value: show(matched), note: 'matched at load' };
  if (state.failure) return { kind: 'failed', why: state.failure };
  return state.computing ? { kind: 'computing', progress: state.computing.progress } : { kind: 'loading' };
}

function matchFigure(
  audience: CountedAudience,
  state: ReportState,
  value: (report: Report) => string | null,
  fromLoads: (matched: number) => string,
): FigureState {
  if (audience.unique_devices === 0)
    return { kind: 'not-yet', why: isOpen(audience.status) ? 'first load in progress' : 'no devices' };
  const { report } = state;
  if (!report) return countedByLoads(audience, state, fromLoads);
  const text = value(report);
  return text === null ? { kind: 'hidden', floor: report.floor } : known(text, report, state, audience);
}

export const matchedFigure = (audience: CountedAudience, state: ReportState): FigureState =>
  matchFigure(
    audience,
    state,
    ({ matched_devices: matched }) => (matched === null ? null : count(matched)),
    count,
  );

export const matchRateFigure = (audience: CountedAudience, state: ReportState): FigureState =>
  matchFigure(
    audience,
    state,
    ({ match_rate: rate }) => (rate === null ? null : percent(rate)),
    (matched) => percent(matched / audience.unique_devices),
  );
