/** The record of a dropped job lists what is stored and what is not. */
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { noTotals, packTotals } from '../../pipeline/formats/slot-totals.ts';
import { describeDrop } from '../../pipeline/stages/dispatch/commit/describe-drop.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { AckDocument } from '../../schemas/stage-documents.ts';
import { aJob } from '../support/recording-environment.ts';

/** Each slot expected 100 pairs. */
function describeWith(acks: Partial<AckDocument>[], fields: Partial<JobDocument> = {}): string {
  const totals = noTotals();
  for (const slot of acks.keys()) totals[slot] = { pairs: 100, checksum: 0 };
  const verdict = { passed: [0, 0], collapsed: [], attempt: 0, expected: new Binary(packTotals(totals)) };
  const acked = acks.map((ack, slot) => ({ slot, uniqueDevices: 0, pairs: 0, ...ack }) as AckDocument);
  const { error } = describeDrop(aJob({ kind: 'import', verdict, ...fields }), acked);
  return error.message.replace('The operator ended the job, which could not be merged. ', '');
}
const dropped = { dropped: true as const };

it.each([
  ['nothing', [dropped, dropped], 'Nothing of it is stored: 200 pairs of device and key are not.'],
  ['all', [{ uniqueDevices: 90 }, { uniqueDevices: 1_000 }], 'All of it is stored: 1,090 devices.'],
  [
    'some',
    [{ uniqueDevices: 90 }, dropped, dropped],
    'Stored: 90 devices, those of slot 0. Not stored: 200 pairs of device and key, those of slots 1, 2.',
  ],
  [
    'some, of which one slot was not counted',
    [{ uniqueDevices: 90 }, dropped, { uniqueDevices: 5, onlyNew: true as const }],
    'Stored: 95 devices, those of slots 0, 2. Not stored: 100 pairs of device and key, those of slot 1. ' +
      'In slot 2, only devices that were new are counted.',
  ],
])('an import, stored: %s', (_, acks, message) => {
  expect(describeWith(acks)).toBe(message);
});

it.each([
  ['nothing', [dropped, dropped], 'Nothing is deleted.'],
  [
    'some',
    [{ uniqueDevices: 3, pairs: 4 }, dropped],
    'Deleted: 4 pairs of device and key, of 2 attributes, from 3 devices. Not or not completely deleted: slot 1.',
  ],
])('a deletion, done: %s', (_, acks, message) => {
  expect(describeWith(acks, { kind: 'delete', attributes: [5, 6] })).toBe(message);
});
