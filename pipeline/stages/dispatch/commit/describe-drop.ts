/** Describes what is stored of a dropped job and what is not, according to the acks of its slots. */
import type { JobDocument, JobError } from '../../../../schemas/job-documents.ts';
import type { AckDocument } from '../../../../schemas/stage-documents.ts';
import { unpackTotals } from '../../../formats/slot-totals.ts';

interface Drop {
  error: JobError;
  slots: NonNullable<JobDocument['dropped']>;
  /** Some of it is not stored. */
  isIncomplete: boolean;
}

const inEnglish = new Intl.NumberFormat('en');
const count = (number: number, what: string) =>
  `${inEnglish.format(number)} ${what}${number === 1 ? '' : 's'}`;
const slotsIn = (slots: number[]) => `slot${slots.length === 1 ? '' : 's'} ${slots.join(', ')}`;

export function describeDrop(job: JobDocument, acked: AckDocument[]): Drop {
  const inOrder = acked.toSorted((a, b) => a.slot - b.slot);
  const slotsWhere = (isWanted: (ack: AckDocument) => boolean) =>
    inOrder.filter(isWanted).map(({ slot }) => slot);
  const slots = {
    merged: slotsWhere(({ dropped }) => !dropped),
    notMerged: slotsWhere(({ dropped }) => dropped === true),
  };
  const devices = acked.reduce((sum, { uniqueDevices }) => sum + uniqueDevices, 0);
  const what =
    job.kind === 'privacy'
      ? served(slots)
      : job.kind === 'delete'
        ? deleted(job, acked, devices, slots)
        : stored(job, devices, slots) + uncounted(slotsWhere(({ onlyNew }) => onlyNew === true));
  const message = `The operator ended the job, which could not be merged. ${what}`;
  return { error: { code: 'dropped', message }, slots, isIncomplete: slots.notMerged.length > 0 };
}

function stored({ verdict }: JobDocument, devices: number, { merged, notMerged }: Drop['slots']): string {
  if (notMerged.length === 0) return `All of it is stored: ${count(devices, 'device')}.`;
  const expected = unpackTotals(verdict!.expected.buffer);
  const missing = notMerged.reduce((sum, slot) => sum + (expected[slot]?.pairs ?? 0), 0);
  const not = `${count(missing, 'pair')} of device and key`;
  if (merged.length === 0) return `Nothing of it is stored: ${not} are not.`;
  return (
    `Stored: ${count(devices, 'device')}, those of ${slotsIn(merged)}. ` +
    `Not stored: ${not}, those of ${slotsIn(notMerged)}.`
  );
}

const uncounted = (slots: number[]): string =>
  slots.length === 0 ? '' : ` In ${slotsIn(slots)}, only devices that were new are counted.`;

function served({ merged, notMerged }: Drop['slots']): string {
  if (notMerged.length === 0) return 'The request was carried out.';
  if (merged.length === 0) return 'Nothing of the request was carried out.';
  return `The request was carried out in ${slotsIn(merged)}, and not in ${slotsIn(notMerged)}: make it again.`;
}

function deleted(
  { attributes }: JobDocument,
  acked: AckDocument[],
  devices: number,
  { merged, notMerged }: Drop['slots'],
): string {
  const from = `from ${count(devices, 'device')}`;
  const pairs = acked.reduce((sum, ack) => sum + ack.pairs, 0);
  const what = `${count(pairs, 'pair')} of device and key, of ${count(attributes!.length, 'attribute')}`;
  if (notMerged.length === 0) return `All of it is deleted: ${what}, ${from}.`;
  if (pairs === 0 && merged.length === 0) return 'Nothing is deleted.';
  // A slot is deleted in steps.
  return `Deleted: ${what}, ${from}. Not or not completely deleted: ${slotsIn(notMerged)}.`;
}
