/** A message of each type, all from one small import: two devices are accepted, and a third is suppressed. */
import { canonicalForms } from '../../../pipeline/formats/identifier.ts';
import { countGroups, noTotals } from '../../../pipeline/formats/slot-totals.ts';
import { decodeGroups, encodeGroups } from '../../../pipeline/wire/device-groups.ts';
import type { MessageTypes } from '../../../schemas/topics.ts';

const partner = 'p-1wc6osvcncsa';
const at = Date.UTC(2026, 5, 1, 8, 30);
const attribute = '17';
const slotted = { 2: '0b7c1a52-77f1-4b1e-8a43-9d2f4a6c3e90', 12: '8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11' };
const optedOut = `00000000-0000-0000-0000-000000000000,${attribute}`;
const rows = Buffer.from(
  `${slotted[12]},${attribute}\n${slotted[2].toUpperCase()},${attribute}\n${optedOut}\n`,
);
const file = { job: 41, file: 0, partner, layout: 'attributes', path: `${partner}/day/devices.csv` } as const;

const groupsOf = (identifier: string) =>
  encodeGroups([{ key: attribute, devices: Buffer.from(identifier.replaceAll('-', ''), 'hex') }]);
const expected = noTotals();
for (const [slot, identifier] of Object.entries(slotted))
  countGroups(expected[Number(slot)]!, groupsOf(identifier));

export const examples: MessageTypes = {
  AcceptedJob: {
    job: file.job,
    kind: 'import',
    partner,
    file_path: 'day/devices.csv',
    path_type: 0,
    key_type: 0,
    compressed: null,
    keys: [],
    audience: null,
    generation: null,
    accepted_at: at,
  },
  ListedFile: {
    ...file,
    etag: '9b2cf535f27731c974343645a3985328',
    size: rows.length,
    compressed: false,
    batch_bytes: 700_000,
    attempt: 0,
  },
  RowBatch: {
    ...file,
    batch: 0,
    last: true,
    start: 0,
    end: rows.length,
    first_line: 1,
    lines: 3,
    delimiter: 44,
    rows,
    failure: null,
    attempt: 0,
  },
  ValidatedDevices: {
    job: file.job,
    file: 0,
    batch: 0,
    slot: 12,
    part: 0,
    groups: groupsOf(slotted[12]),
    more: [],
  },
  JobMarker: {
    job: file.job,
    kind: 'import',
    partner: file.partner,
    passed: [0, 0],
    collapsed: [],
    attributes: [],
    privacy: '',
    audience: null,
    generation: null,
    request: 'commit',
    attempt: 0,
    expected,
    verdict: '',
    files_counted: true,
    after: [40],
    ended_before: 40,
  },
  RejectedRows: {
    job: file.job,
    file: 0,
    batch: 0,
    path: file.path,
    rows: [{ line: 3, code: 'opted_out', raw: optedOut }],
  },
  JobStatusChanged: {
    job: file.job,
    kind: 'import',
    partner,
    status: 2,
    files: 1,
    files_done: 1,
    rows: 3,
    unique_devices: 2,
    audience: null,
    errors: [],
    updated_at: at + 1_250,
  },
  DeadLetter: {
    topic: 'ingest.rows',
    partition: 3,
    offset: '1207',
    error: 'no wire-format header',
    key: null,
    value: Buffer.from('hello'),
    at,
  },
};

/** As a reader would print it: identifiers in canonical form, bytes as text. */
export function readable(value: unknown, name = '', bytesAs: BufferEncoding = 'utf8'): unknown {
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value as Uint8Array);
    if (name === 'groups') return readable(decodeGroups(bytes));
    return name === 'devices' ? canonicalForms(bytes) : bytes.toString(bytesAs);
  }
  if (Array.isArray(value)) return value.map((item) => readable(item, '', bytesAs));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, readable(member, key, bytesAs)]),
  );
}
