/** A composition report as one CSV table. */

import { type CsvRow, csvHeader, csvLine } from './attribute-rows.ts';
import type { ShownComposition } from './composition-records.ts';

export async function* compositionCsv(composition: ShownComposition): AsyncGenerator<string | Buffer> {
  const { events, overlaps, attributeRows } = composition;
  yield csvHeader + [...summaryRows(composition)].map(csvLine).join('');
  yield* attributeRows('csv');
  yield events.map(({ event, ...counts }) => csvLine({ section: 'event', name: event, ...counts })).join('');
  yield overlaps
    .map(({ audience_id, share_of_this, ...overlap }) =>
      csvLine({ section: 'overlap', id: audience_id, share: share_of_this, ...overlap }),
    )
    .join('');
}

/** The id names the row's subject. */
function* summaryRows({ summary }: ShownComposition): Generator<CsvRow> {
  const about = (id: string, rest: CsvRow): CsvRow => ({ section: 'summary', id, ...rest });
  yield about('audience', { name: summary.name });
  yield about('computed_at', { name: summary.computed_at.toISOString() });
  yield about('current', { name: String(summary.current) });
  if (summary.floor > 0)
    yield about('floor', { name: `Counts below ${summary.floor} are hidden.`, devices: summary.floor });
  yield about('unique_devices', { devices: summary.unique_devices });
  yield about('matched_devices', { devices: summary.matched_devices, share: summary.match_rate });
  yield about('marketplace_devices', { devices: summary.marketplace_devices });
}
