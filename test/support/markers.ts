/** Markers as dispatch writes them. */
import { createFileRanges } from '../../pipeline/formats/file-numbers.ts';
import { countGroups, noTotals } from '../../pipeline/formats/slot-totals.ts';
import type { JobMarker, ValidatedDevices } from '../../schemas/topics.ts';

/** Expects every device message; a repeated one counts once. */
export function markerOf(
  fields: Pick<JobMarker, 'job'> & Partial<JobMarker>,
  devices: ValidatedDevices[] = [],
): JobMarker {
  const marker: JobMarker = {
    kind: 'import',
    partner: 'p',
    request: 'commit',
    passed: [0, 0],
    collapsed: [],
    verdict: '',
    files_counted: false,
    attributes: [],
    privacy: '',
    audience: null,
    generation: null,
    attempt: 0,
    expected: noTotals(),
    after: [],
    ended_before: 0,
    ...fields,
  };
  const isPassed = createFileRanges(marker.passed);
  const seen = new Set<string>();
  for (const { job, file, batch, part, slot, groups } of devices) {
    const name = `${slot} ${file}.${batch}.${part}`;
    if (job !== marker.job || !isPassed(file) || seen.has(name)) continue;
    seen.add(name);
    countGroups(marker.expected[slot]!, groups);
  }
  return marker;
}
