import { describe, expect, it } from 'vitest';
import type { Load } from '../../api/client/types.ts';
import { growthOf } from '../../api/console/growth.ts';

const load = (given: Partial<Load>): Load => ({
  load_id: 1,
  file_path: 'a/',
  prefix_matches: [],
  generation: 1,
  cleared: false,
  status: 2,
  files: 1,
  files_done: 1,
  unique_devices: 100,
  total_rows: 120,
  errors: null,
  created_at: '2026-06-01T08:00:00Z',
  updated_at: '2026-06-01T08:00:02Z',
  rows_accepted: 110,
  rows_rejected: { opted_out: 4, bad_identifier: 6 },
  suppressed: 0,
  new_devices: 100,
  audience_devices: 100,
  ...given,
});

describe('growth', () => {
  it('has the loads that have ended and were not cleared, oldest first', () => {
    const running = load({
      load_id: 3,
      status: 1,
      new_devices: null,
      audience_devices: null,
      rows_rejected: null,
    });
    const second = load({ load_id: 2, new_devices: 30, audience_devices: 130 });
    const cleared = load({ load_id: 4, cleared: true });
    expect(growthOf([cleared, running, second, load({})])).toEqual([
      { load: 1, at: '2026-06-01T08:00:02Z', devices: 100, added: 100, repeated: 0, rejected: 10 },
      { load: 2, at: '2026-06-01T08:00:02Z', devices: 130, added: 30, repeated: 70, rejected: 10 },
    ]);
  });
});
