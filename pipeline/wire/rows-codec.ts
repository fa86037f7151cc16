/**
 * A hand-written codec for RowBatch, byte for byte standard Avro (a test compares it with avsc): rows are copied once and read in place.
 */

import type { Layout, RowBatch } from '../../schemas/topics.ts';
import { AvroReader, AvroWriter } from './avro-bytes.ts';
import { varintLength } from './varint.ts';

const layouts: Layout[] = ['attributes', 'audience', 'identifiers'];
const textLength = (text: string) => varintLength(Buffer.byteLength(text)) + Buffer.byteLength(text);

export function encodeRowBatch(header: Buffer, batch: RowBatch): Buffer {
  const { failure, rows } = batch;
  const numbers = [
    batch.job,
    batch.file,
    batch.batch,
    batch.start,
    batch.end,
    batch.first_line,
    batch.lines,
    batch.delimiter,
  ];
  let size = numbers.reduce((sum, number) => sum + varintLength(number), varintLength(batch.attempt));
  size +=
    1 + textLength(batch.partner) + 1 + textLength(batch.path) + varintLength(rows.length) + rows.length + 1;
  if (failure) {
    size +=
      textLength(failure.code) +
      textLength(failure.message) +
      1 +
      (failure.line === null ? 0 : varintLength(failure.line));
  }
  const writer = new AvroWriter(header, size);
  writer.long(batch.job);
  writer.long(batch.file);
  writer.long(batch.batch);
  writer.raw(Buffer.of(batch.last ? 1 : 0));
  writer.string(batch.partner);
  writer.long(layouts.indexOf(batch.layout));
  writer.string(batch.path);
  for (const number of numbers.slice(3)) writer.long(number);
  writer.long(rows.length);
  writer.raw(rows);
  writer.long(failure ? 1 : 0);
  if (failure) {
    writer.string(failure.code);
    writer.string(failure.message);
    writer.long(failure.line === null ? 0 : 1);
    if (failure.line !== null) writer.long(failure.line);
  }
  writer.long(batch.attempt);
  return writer.bytes;
}

/** The rows are a view into `body`: copy what you keep. */
export function decodeRowBatch(body: Buffer): RowBatch {
  const reader = new AvroReader(body);
  const optional = <T>(read: () => T): T | null => {
    const branch = reader.long();
    if (branch !== 0 && branch !== 1) throw new Error('invalid union branch');
    return branch === 1 ? read() : null;
  };
  const flag = () => {
    const byte = reader.raw(1)[0]!;
    if (byte > 1) throw new Error('not a boolean');
    return byte === 1;
  };
  const layout = () => {
    const known = layouts[reader.long()];
    if (!known) throw new Error('unknown layout');
    return known;
  };
  const batch: RowBatch = {
    job: reader.long(),
    file: reader.long(),
    batch: reader.long(),
    last: flag(),
    partner: reader.string(),
    layout: layout(),
    path: reader.string(),
    start: reader.long(),
    end: reader.long(),
    first_line: reader.long(),
    lines: reader.long(),
    delimiter: reader.long(),
    rows: reader.raw(reader.long()),
    failure: optional(() => ({
      code: reader.string(),
      message: reader.string(),
      line: optional(() => reader.long()),
    })),
    attempt: reader.long(),
  };
  reader.end();
  return batch;
}
