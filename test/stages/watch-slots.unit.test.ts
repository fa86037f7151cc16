/** What the markers tell the slots. */
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { noneExpected } from '../../pipeline/stages/dispatch/add-up.ts';
import { createSlotWatch, type SlotDependencies } from '../../pipeline/stages/dispatch/watch-slots.ts';
import type { JobDocument, JobError } from '../../schemas/documents.ts';
import { aJob, recordingEnvironment } from '../support/recording-environment.ts';

async function markerOf(job: Partial<JobDocument>) {
  const { sent, step, publisher } = recordingEnvironment('dispatch');
  const deps = { publisher, devicePartitions: 1, stallMs: 1_000 } as SlotDependencies;
  const verdict = { passed: [], collapsed: [], attempt: 0, expected: new Binary(noneExpected.buffer) };
  await createSlotWatch(deps, step, () => {}).mark([aJob({ phase: 'sealed', verdict, ...job })]);
  return sent[0]!.message.value;
}

it('a deletion names its attributes; one that failed or was cancelled removes nothing', async () => {
  const deletion: Partial<JobDocument> = { kind: 'delete', audience: null, generation: null };
  const attributes = [3, 4];
  expect(await markerOf({ ...deletion, attributes })).toMatchObject({ kind: 'delete', attributes });
  const errors: JobError[] = [{ code: 'cancelled', message: 'An operator cancelled the job.' }];
  expect(await markerOf({ ...deletion, attributes, errors })).toMatchObject({ attributes: [] });
});
