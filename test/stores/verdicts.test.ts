/** A job of a million files, half of them failed: its document and markers stay small, and the sinks still know each file's verdict. */
import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { createVerdictStore } from '../../pipeline/stores/verdicts.ts';
import type { JobVerdict } from '../../schemas/job-documents.ts';
import { openDatabase } from '../sets/database.ts';
import { markerOf } from '../support/markers.ts';

const database = openDatabase();
const JOB = 9;
const FILES = 1_000_000;

const verdictOf = (passed: number[], collapsed: number[]): JobVerdict => ({
  passed,
  collapsed,
  attempt: 0,
  expected: new Binary(),
});
const markerFor = ({ passed, collapsed, stored = '' }: JobVerdict) =>
  markerOf({ job: JOB, passed, collapsed, verdict: stored });

it('every second of a million files', async () => {
  const verdicts = createVerdictStore(database.db);
  const passed = Array.from({ length: FILES }, (_, i) => i + 1 - (i % 2));
  const kept = await verdicts.keep(JOB, verdictOf(passed, [1, 5]));
  expect(JSON.stringify(kept).length).toBeLessThan(300);
  const marker = markerFor(kept);
  const [isPassed, isCollapsed] = [await verdicts.passedOf(marker), await verdicts.collapsedOf(marker)];
  for (const file of [0, 1, 2, 3, 4, FILES - 2, FILES - 1, FILES])
    expect([isPassed(file), isCollapsed(file)]).toEqual([
      file % 2 === 1 && file < FILES,
      file === 1 || file === 5,
    ]);
  await verdicts.forget([JOB]);
  await expect(createVerdictStore(database.db).passedOf(marker)).rejects.toThrow('is not visible yet');
});

it('a short verdict is in the marker itself', async () => {
  const verdicts = createVerdictStore(database.db);
  const verdict = verdictOf([0, 3, 7, 7], [2]);
  expect(await verdicts.keep(JOB, verdict)).toEqual(verdict);
  const marker = markerFor(verdict);
  const [isPassed, isCollapsed] = [await verdicts.passedOf(marker), await verdicts.collapsedOf(marker)];
  const among = [...Array(10).keys()];
  expect([among.filter(isPassed), among.filter(isCollapsed)]).toEqual([[0, 1, 2, 3, 7], [2]]);
});
