/**
 * The compressions, and which of them a file has. A new one is a file beside gunzip.ts and an entry here: its extension then says
 * that a file is compressed, and how. A compressed file whose name does not say how is gzip.
 */
import type { Compression } from './decode.ts';
import { gzip } from './gunzip.ts';

export const compressions: Compression[] = [gzip];

/** The entry whose files have such a name. */
export const byName = <Entry extends { extensions: readonly string[] }>(entries: Entry[], path: string) =>
  entries.find(({ extensions }) => extensions.some((extension) => path.endsWith(extension)));

export function uncompressedName(path: string): string {
  const extension = byName(compressions, path)?.extensions.find((one) => path.endsWith(one));
  return extension ? path.slice(0, -extension.length) : path;
}

/** As the job declares (with a prefix of group A it must), or else (a single file, and all of group B) by the extension. */
export const isCompressed = (path: string, declared: boolean | null): boolean =>
  declared ?? byName(compressions, path) !== undefined;

/** Null for plain text. */
export const compressionOf = (file: { path: string; compressed: boolean }): Compression | null =>
  file.compressed ? (byName(compressions, file.path) ?? gzip) : null;

/** The compression that the bytes at the beginning of a file show. */
export const compressionIn = (bytes: Buffer): Compression | undefined =>
  compressions.find(({ magic }) => magic.length > 0 && bytes.subarray(0, magic.length).equals(magic));
