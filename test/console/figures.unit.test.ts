import { describe, expect, it } from 'vitest';
import { matchedFigure, matchRateFigure, recordFigure } from '../../api/console/figures.ts';

const done = {
  status: 2,
  unique_devices: 1_000,
  matched_devices: 400,
} as const;
const report = {
  computed_at: '2026-06-01T09:00:00Z',
  floor: 0,
  unique_devices: 1_000,
  matched_devices: 410,
  match_rate: 0.41,
};
const idle = { computing: null };

describe('a figure', () => {
  it('is never a bare 0 that means "not yet"', () => {
    const pending = { ...done, status: 0, unique_devices: 0, matched_devices: 0 } as const;
    expect(recordFigure(pending, 0).kind).toBe('not-yet');
    expect(matchedFigure(pending, { report: null, ...idle }).kind).toBe('not-yet');
    const computing = matchedFigure(
      { ...done, matched_devices: 0 },
      { report: null, computing: { progress: 0.4 } },
    );
    expect(computing).toEqual({ kind: 'computing', progress: 0.4 });
  });

  it('is 0 when it was counted and is 0', () => {
    expect(recordFigure({ ...done, unique_devices: 0 }, 0)).toMatchObject({ kind: 'known', value: '0' });
    const none = { ...report, matched_devices: 0, match_rate: 0 };
    expect(matchedFigure(done, { report: none, ...idle })).toMatchObject({ kind: 'known', value: '0' });
  });

  it('is out of date when the audience has changed since, and not when the marketplace has', () => {
    expect(matchedFigure(done, { report, ...idle })).toEqual({ kind: 'known', value: '410' });
    expect(matchedFigure(done, { report, computing: { progress: 0.5 } })).toEqual({
      kind: 'known',
      value: '410',
    });
    const grown = { ...done, unique_devices: 1_200 };
    expect(matchRateFigure(grown, { report, ...idle })).toMatchObject({
      value: '41%',
      note: 'out of date',
      isOutdated: true,
    });
    expect(matchRateFigure(grown, { report, computing: { progress: 0.5 } })).toMatchObject({
      note: 'updating, 50%',
    });
    expect(matchRateFigure(grown, { report, ...idle, failure: 'Down' })).toMatchObject({
      note: 'out of date: computing failed',
    });
  });

  it('says that the privacy floor hides it', () => {
    const hidden = { ...report, floor: 100, matched_devices: null, match_rate: null };
    expect(matchedFigure(done, { report: hidden, ...idle })).toEqual({ kind: 'hidden', floor: 100 });
    expect(matchRateFigure(done, { report: hidden, ...idle })).toEqual({ kind: 'hidden', floor: 100 });
  });

  it('is what the loads counted until the first report is there', () => {
    expect(matchedFigure(done, { report: null, computing: { progress: 0.2 } })).toEqual({
      kind: 'known',
      value: '400',
      note: 'matched at load',
    });
  });

  it('says why it failed', () => {
    const unmatched = { ...done, matched_devices: 0 };
    expect(matchedFigure(unmatched, { report: null, ...idle, failure: 'It failed' })).toEqual({
      kind: 'failed',
      why: 'It failed',
    });
  });
});
