/**
 * The registry of compressions, and how one is chosen for a file. A new compression is a file like gunzip.ts and an entry here. A file
 * declared as compressed without a known extension is gzip.
 */
import type { Compression } from './decode.ts';
import { gzip } from './gunzip.ts';

export const compressions: Compression[] = [gzip];

/** The entry with the extension of the path. */
export const byName = <Entry extends { extensions: readonly string[] }>(entries: Entry[], path: string) =>
  entries.find(({ extensions }) => extensions.some((extension) => path.endsWith(extension)));

export function uncompressedName(path: string): string {
  const extension = byName(compressions, path)?.extensions.find((known) => path.endsWith(known));
  return extension ? path.slice(0, -extension.length) : path;
}

/** As declared in the request, otherwise by extension. */
export const isCompressed = (path: string, declared: boolean | 'auto' | null): boolean =>
  typeof declared === 'boolean' ? declared : byName(compressions, path) !== undefined;

/** Null for plain text. */
export const compressionOf = (file: { path: string; compressed: boolean }): Compression | null =>
  file.compressed ? (byName(compressions, file.path) ?? gzip) : null;

/** Recognises a compressed file by its first bytes. */
export const compressionIn = (bytes: Buffer): Compression | undefined =>
  compressions.find(({ magic }) => magic.length > 0 && bytes.subarray(0, magic.length).equals(magic));
