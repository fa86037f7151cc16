/**
 * The attribute rows of a report: rendered once, in the thread that computes it, and stored as response bytes. An index of numbers
 * decides at each read which rows the caller sees.
 */
import type { z } from 'zod';
import { packNumbers } from '../../../pipeline/formats/number-table.ts';
import type { RenderedRows, StoredRows } from '../../../pipeline/stores/composition-rows.ts';
import { type CsvCell, csvLineOf } from '../../../schemas/csv.ts';
import type { attributeRow } from '../../../schemas/http-composition.ts';

/** Of the CSV table of a report. */
const columns = [
  'section',
  'id',
  'name',
  'owner',
  'visibility',
  'devices',
  'share',
  'index',
  'rows',
  'share_of_other',
] as const;

export type CsvRow = Partial<Record<(typeof columns)[number], CsvCell>>;

export const csvLine = (row: CsvRow) => csvLineOf(columns.map((column) => row[column]));
export const csvHeader = csvLineOf(columns);

export type AttributeRow = z.output<typeof attributeRow>;

/** Decides who sees a row. */
export interface RowFacts {
  attribute: number;
  devices: number;
  isOwn: boolean;
  isPrivate: boolean;
}

/** Numbers of each row: attribute, devices, own (1), private (2), and the bytes of its text as JSON and as CSV. */
const WIDTH = 5;
const OWN = 1;
const PRIVATE = 2;
const BYTES = 8;
const textAt = { json: 3, csv: 4 } as const;

/** Rows of JSON end with a comma, rows of CSV with a line break. */
export function renderRows(rows: readonly AttributeRow[]): RenderedRows {
  const rendered = rows.map((row) => ({
    json: `${JSON.stringify(row)},`,
    csv: csvLine({ section: 'attribute', id: row.attribute_id, ...row }),
  }));
  const index = rows.map(({ attribute_id, devices, own, visibility }, i) => [
    attribute_id,
    devices,
    (own ? OWN : 0) + (visibility === 'private' ? PRIVATE : 0),
    Buffer.byteLength(rendered[i]!.json),
    Buffer.byteLength(rendered[i]!.csv),
  ]);
  return {
    index: packNumbers(index),
    json: Buffer.from(rendered.map(({ json }) => json).join('')),
    csv: Buffer.from(rendered.map(({ csv }) => csv).join('')),
  };
}

/** The stored text of the visible rows. */
export function selectRows(
  { index, text }: StoredRows,
  format: keyof typeof textAt,
  isShown: (row: RowFacts) => boolean,
): Buffer {
  const view = new DataView(index.buffer, index.byteOffset, index.byteLength);
  const number = (row: number, column: number) => view.getFloat64((row * WIDTH + column) * BYTES, true);
  const pieces: Buffer[] = [];
  let from = 0;
  let at = 0;
  const take = () => {
    if (at > from) pieces.push(text.subarray(from, at));
  };
  for (let row = 0; row < index.byteLength / (WIDTH * BYTES); row++) {
    const flags = number(row, 2);
    const facts = {
      attribute: number(row, 0),
      devices: number(row, 1),
      isOwn: (flags & OWN) !== 0,
      isPrivate: (flags & PRIVATE) !== 0,
    };
    const length = number(row, textAt[format]);
    if (!isShown(facts)) {
      take();
      from = at + length;
    }
    at += length;
  }
  take();
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
