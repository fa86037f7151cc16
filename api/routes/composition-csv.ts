/** A composition report as one CSV table (RFC 4180). A hidden count is an empty cell. */
import type { ShownComposition } from './composition-records.ts';

const columns = ['section', 'id', 'name', 'devices', 'share', 'index', 'rows', 'share_of_other'] as const;

type Cell = string | number | null | undefined;
type Row = Partial<Record<(typeof columns)[number], Cell>>;

/** A spreadsheet must not take a name for a formula: an apostrophe makes it text. */
const defused = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const cellOf = (cell: Cell) => (typeof cell === 'string' ? quoted(defused(cell)) : String(cell ?? ''));
const lineOf = (row: Row) => `${columns.map((column) => cellOf(row[column])).join(',')}\r\n`;

const PIECE = 32_768;

export async function* compositionCsv(composition: ShownComposition): AsyncGenerator<string> {
  let text = `${columns.join(',')}\r\n`;
  for await (const row of rowsOf(composition)) {
    text += lineOf(row);
    if (text.length < PIECE) continue;
    yield text;
    text = '';
  }
  yield text;
}

async function* rowsOf(composition: ShownComposition): AsyncGenerator<Row> {
  yield* summaryRows(composition);
  for await (const { attribute_id, ...attribute } of composition.attributes)
    yield { section: 'attribute', id: attribute_id, ...attribute };
  for (const { event, ...counts } of composition.events) yield { section: 'event', name: event, ...counts };
  for (const { audience_id, share_of_this, ...overlap } of composition.overlaps)
    yield { section: 'overlap', id: audience_id, share: share_of_this, ...overlap };
}

/** The id says what a line is about. */
function* summaryRows({ summary }: ShownComposition): Generator<Row> {
  const about = (id: string, rest: Row): Row => ({ section: 'summary', id, ...rest });
  yield about('audience', { name: summary.name });
  yield about('computed_at', { name: summary.computed_at.toISOString() });
  yield about('current', { name: String(summary.current) });
  if (summary.floor > 0)
    yield about('floor', { name: `Counts below ${summary.floor} are hidden.`, devices: summary.floor });
  yield about('unique_devices', { devices: summary.unique_devices });
  yield about('matched_devices', { devices: summary.matched_devices, share: summary.match_rate });
  yield about('marketplace_devices', { devices: summary.marketplace_devices });
}
