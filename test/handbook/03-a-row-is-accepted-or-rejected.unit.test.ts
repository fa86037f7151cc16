/**
 * 3. validate parses a batch. A bad row is a value, never an exception: it is rejected with its line and a code from
 *    schemas/codes.ts, and the rows around it are accepted. Repeated devices are deduplicated.
 */
import { expect, it } from 'vitest';
import { createKeyTable } from '../../pipeline/formats/key-table.ts';
import { parseRows } from '../../pipeline/formats/parse-rows.ts';
import { ids } from '../support/rows.ts';

const COMMA = 0x2c;
const [a, b] = ids(2) as [string, string];
/** The partner has one attribute, 5. */
const keys = createKeyTable([{ key: '5', attribute: 5 }]);

const parse = (rows: string) =>
  parseRows(
    { rows: Buffer.from(rows), first_line: 1, delimiter: COMMA, layout: 'attributes' },
    { keys, maxRejects: 100 },
  );

it('counts rows, and devices once', () => {
  const { rows, accepted, pairsRead, pairs } = parse(`${a},5\n${b},5\n${a.toUpperCase()},5\n`);
  expect({ rows, accepted, pairsRead, pairs }).toEqual({ rows: 3, accepted: 3, pairsRead: 3, pairs: 2 });
});

it('says which row was rejected, and why', () => {
  const { rows, accepted, rejected, rejects } = parse(
    `${a},5\nnobody,5\n00000000-0000-0000-0000-000000000000,5\n${b},6\n`,
  );
  expect({ rows, accepted }).toEqual({ rows: 4, accepted: 1 });
  expect(rejected).toEqual({ bad_identifier: 1, opted_out: 1, unknown_key: 1 });
  expect(rejects).toMatchObject([
    { line: 2, code: 'bad_identifier' },
    { line: 3, code: 'opted_out' },
    { line: 4, code: 'unknown_key' },
  ]);
});
