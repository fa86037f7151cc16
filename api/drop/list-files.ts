/** The platform's files: their names, the rows of its lists, and the statuses that answer them. */
import { DIGEST_BYTES } from '../../pipeline/formats/device-digest.ts';
import { type DropList, dropLists } from '../../schemas/drop-documents.ts';

export const UPLOAD_HEADER = 'Id,Status';

const NAME = /^(\d{8}_\d{4})_([A-Za-z]{3,7})(?:_([A-Za-z0-9]{1,10}))?\.csv$/;
const ID = /^[A-Za-z0-9]{12}$/;
const HASH = /^[A-Za-z0-9+/]{43}=$/;
const headers = { list: 'ID,Hash', removed: 'ID,Hash,ListType' };

/** Undefined: not a list of the platform. */
export function listOf(name: string): DropList | 'Removed' | undefined {
  const [, , type, suffix] = NAME.exec(name) ?? [];
  if (type === 'Removed' || suffix === 'Removed') return 'Removed';
  return dropLists.find((list) => list === type);
}

export const brokerOf = (name: string): string | undefined => /^\d{8}_(\d{4})_/.exec(name)?.[1];

/** `20260312_4821_MAID.csv` and `p2` → `20260312_4821_MAID_p2.csv`. A name is accepted once, so each has a suffix of its own. */
export function withSuffix(name: string, suffix: string): string {
  const [, start, type] = NAME.exec(name)!;
  return `${start}_${type}${suffix === '' ? '' : `_${suffix}`}.csv`;
}

export class ListError extends Error {
  readonly code = 'drop_bad_file';
}

export interface ListRow {
  id: string;
  /** Undefined: not a digest, so nothing can match it. */
  digest: Buffer | undefined;
  list: string | undefined;
}

/** Takes a file in chunks. */
export function createListReader(name: string, onRow: (row: ListRow) => void) {
  const isRemoved = listOf(name) === 'Removed';
  const expected = isRemoved ? headers.removed : headers.list;
  let rest = '';
  let hasHeader = false;
  let unreadable = 0;

  function takeLine(line: string): void {
    if (line === '') return;
    if (!hasHeader) {
      // Without a byte-order mark.
      if (line.replace(/^\uFEFF/, '') !== expected)
        throw new ListError(`${name} begins with ${JSON.stringify(line.slice(0, 40))}, not ${expected}`);
      hasHeader = true;
      return;
    }
    const [id = '', hash = '', list] = line.split(',');
    if (!ID.test(id)) unreadable++;
    else {
      const digest = HASH.test(hash) ? Buffer.from(hash, 'base64') : undefined;
      onRow({ id, digest: digest?.length === DIGEST_BYTES ? digest : undefined, list });
    }
  }

  return {
    take(bytes: Uint8Array): void {
      // Ids and hashes are ASCII, and so is whatever could be one.
      const lines = (
        rest +
        Buffer.from(bytes)
          .toString('latin1')
          .replace(/^\xef\xbb\xbf/, '')
      ).split('\n');
      rest = lines.pop()!;
      for (const line of lines) takeLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    /** Returns the number of rows without a valid id, which get no status. */
    end(): number {
      takeLine(rest.trimEnd());
      if (!hasHeader) throw new ListError(`${name} is empty: it has no header`);
      return unreadable;
    },
  };
}
