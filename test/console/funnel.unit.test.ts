import { describe, expect, it } from 'vitest';
import type { FileReport } from '../../api/client/types.ts';
import { funnelOf, shareOf } from '../../api/console/funnel.ts';

const file = (given: Partial<FileReport>): FileReport => ({
  s3_path: 'p/a.csv',
  status: 2,
  rows_uploaded: 0,
  updated_at: '2026-06-01T08:00:00Z',
  rows: 0,
  rows_accepted: 0,
  rows_duplicate: 0,
  rows_rejected: {},
  suppressed: 0,
  failure: null,
  ...given,
});

describe('the funnel', () => {
  const files = [
    file({
      rows: 110,
      rows_accepted: 100,
      rows_uploaded: 100,
      rows_rejected: { bad_identifier: 7, opted_out: 3 },
    }),
    file({ status: 3, rows: 50, rows_accepted: 30, rows_rejected: { bad_identifier: 20 } }),
    file({ status: 2, rows: 40, rows_accepted: 40, rows_uploaded: 40 }),
    file({ status: 1, rows: 5, rows_accepted: 5 }),
  ];

  it('accounts for every row that was read', () => {
    const funnel = funnelOf(files, { uploaded_devices: 100, unique_devices: 90 });
    expect(funnel).toEqual({
      rows: 200,
      rejected: { bad_identifier: 27, opted_out: 3 },
      rejectedRows: 30,
      rowsInFailedFiles: 30,
      rowsNotMerged: 40,
      uploaded: 100,
      repeated: 10,
      unique: 90,
    });
    const { rows, rejectedRows, rowsInFailedFiles, rowsNotMerged, repeated, unique } = funnel;
    expect(rejectedRows + rowsInFailedFiles + rowsNotMerged + repeated + unique).toBe(rows);
  });

  it('has no share of nothing', () => {
    expect(shareOf(0, 0)).toBeNull();
    expect(shareOf(1, 4)).toBe(0.25);
  });
});
