/** Example requests and responses. Tests check that every request here is valid. */
const example = (summary: string, value: unknown) => ({ summary, value });

const record = {
  import_log_id: 42,
  file_path: 'day=2026-06-01/devices.csv',
  path_type: 0,
  key_type: 0,
  status: 2,
  log_type: 0,
  keys: null,
  unique_devices: '16000',
  total_rows: '20000',
  errors: null,
  created_at: '2026-06-01T08:30:00.000Z',
  updated_at: '2026-06-01T08:31:12.000Z',
};
const failed = {
  ...record,
  import_log_id: 44,
  file_path: 'day=2026-06-02/',
  status: 3,
  errors: [
    {
      code: 'too_many_invalid',
      message: 'The share of invalid rows is above the limit.',
      file: 'p-tt6hkz9rv7bs/day=2026-06-02/2.csv',
      count: 940,
    },
  ],
};
const deletion = {
  ...record,
  import_log_id: 43,
  file_path: '',
  log_type: 1,
  keys: ['17', '18'],
  unique_devices: '12000',
  total_rows: '15000',
};

export const importLogs = {
  logs: example('A failed import, a deletion and an import', [failed, deletion, record]),
};
export const failedImport = {
  done: example('Done', record),
  failed: example('Failed, with the reason', failed),
  deletion: example('A deletion', deletion),
};

export const imports = {
  file: example('One file', { file_path: 'day=2026-06-01/devices.csv', key_type: 0 }),
  prefix: example('All files under a prefix', {
    file_path: 'day=2026-06-01/',
    key_type: 1,
    compressed: true,
  }),
  own: example('From your own bucket', {
    file_path: 's3://acme-exports/day=2026-06-01/devices.csv.gz',
    key_type: 0,
    path_type: 1,
    credentials: {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      region: 'eu-west-1',
    },
  }),
};

export const deletions = {
  attribute_ids: example('By attribute_id', { key_type: 0, keys: ['17', '18'] }),
  foreign_keys: example('By partner_foreign_key', { key_type: 1, keys: ['colour:red'] }),
};

export const audiences = {
  prefix: example('All files under a prefix', { name: 'Summer visitors', file_path: 'acme/summer/' }),
  file: example('One file', { name: 'Summer visitors', file_path: 'acme/summer/1.csv.gz' }),
};
export const appends = {
  prefix: example('All files under a prefix', { file_path: 'acme/summer/day-2/' }),
  file: example('One file', { file_path: 'acme/summer/2.csv' }),
};

const load = {
  load_id: 57,
  file_path: 'acme/summer/day-2/',
  status: 2,
  files: 2,
  files_done: 2,
  unique_devices: 4_800,
  total_rows: 5_210,
  rows_accepted: 5_200,
  rows_rejected: { bad_identifier: 8, opted_out: 2 },
  new_devices: 3_000,
  audience_devices: 5_000,
  errors: null,
  created_at: '2026-06-02T08:30:00.000Z',
  updated_at: '2026-06-02T08:31:12.000Z',
};
export const loads = {
  loads: example('A load whose path matched no file, and one that is done', [
    {
      ...load,
      load_id: 58,
      file_path: 'acme/sumer/',
      status: 3,
      files: 0,
      files_done: 0,
      unique_devices: 0,
      total_rows: 0,
      rows_accepted: 0,
      rows_rejected: {},
      new_devices: 0,
      errors: [{ code: 'no_files', message: 'No object matches acme/sumer/.' }],
    },
    load,
  ]),
};

export const compositions = {
  report: example('A report', {
    audience_id: 42,
    name: 'Summer visitors',
    computed_at: '2026-06-01T08:35:00.000Z',
    current: true,
    floor: 100,
    unique_devices: 5_000,
    matched_devices: 4_100,
    match_rate: 0.82,
    marketplace_devices: 16_000,
    overlap_count: 1,
    overlaps_complete: true,
    attributes: [
      {
        attribute_id: 17,
        name: 'Frequent travellers',
        owner: 'Acme Travel Data',
        own: true,
        visibility: 'private',
        devices: 1_500,
        share: 0.3,
        index: 240,
      },
      {
        attribute_id: 18,
        name: 'Pet owners',
        owner: 'Paws & Co.',
        own: false,
        visibility: 'public',
        devices: 400,
        share: 0.08,
        index: 64,
      },
    ],
    events: [
      { event: 'purchase', devices: 900, rows: 1_100 },
      { event: 'return', devices: null, rows: null },
    ],
    overlaps: [
      {
        audience_id: 40,
        name: 'Spring visitors',
        devices: 640,
        share_of_this: 0.128,
        share_of_other: 0.4,
      },
    ],
  }),
};
const loading = {
  phase: 'loading',
  status: 1,
  jobs_ahead: 0,
  files: 8,
  files_done: 5,
  rows: 2_600_000,
  bytes: 160_000_000,
  bytes_done: 104_000_000,
  rows_per_second: 400_000,
  created_at: '2026-06-02T08:30:00.000Z',
  started_at: '2026-06-02T08:30:01.000Z',
  loaded_at: null,
  ended_at: null,
  estimated_end_at: '2026-06-02T08:30:11.000Z',
};
export const progresses = {
  loading: example('Loading', loading),
  waiting: example('Waiting for three other jobs', {
    ...loading,
    phase: 'waiting',
    status: 0,
    jobs_ahead: 3,
    files: null,
    files_done: 0,
    rows: 0,
    bytes: null,
    bytes_done: 0,
    rows_per_second: null,
    started_at: null,
    estimated_end_at: null,
  }),
};

const event = (name: string, data: unknown) =>
  `id: 6a1f2c4800000007\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
export const streamed = {
  imports: example('An import has ended', `retry: 1000\n\n${event('import', record)}`),
  audiences: example('A load has ended', `retry: 1000\n\n${event('load', { audience_id: 42, ...load })}`),
};

export const webhookRequests = {
  webhook: example('A webhook', { url: 'https://hooks.acme.example/headrace', description: 'production' }),
};
const sent = <Data extends { updated_at: string }>(type: string, data: Data) =>
  example(type, { type, timestamp: data.updated_at, data });
/** By the type of the event. */
export const webhooksSent = {
  'import.ended': sent('import.ended', record),
  'deletion.ended': sent('deletion.ended', deletion),
  'load.ended': sent('load.ended', { audience_id: 42, ...load }),
  'webhook.test': example('webhook.test', {
    type: 'webhook.test',
    timestamp: record.updated_at,
    data: { webhook_id: 3 },
  }),
};
