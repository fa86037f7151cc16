/** Local files and their names in the storage. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { sharedPathProblem } from '../../../schemas/paths.ts';
import { usageError } from './exit-codes.ts';

export interface LocalFile {
  source: string;
  /** Relative to the folder of this upload. */
  name: string;
  size: number;
  mtimeMs: number;
}

/** The maximum of S3. */
const MAX_KEY_BYTES = 1_024;

/** Under a prefix, the service skips these: `_SUCCESS`, `.crc`, `.DS_Store`. */
const isLeftOut = (name: string) => /^[_.]/.test(basename(name));

function fileAt(source: string, name: string): LocalFile {
  const { size, mtimeMs } = statSync(source);
  return { source, name, size, mtimeMs };
}

const isFileAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** Prefixed with the folder's name, like cp -r. Follows links to files, not to folders. */
function filesIn(folder: string): LocalFile[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .filter(({ entry, path }) => entry.isFile() || (entry.isSymbolicLink() && isFileAt(path)))
    .map(({ path }) => path)
    .filter((path) => !isLeftOut(path))
    .sort();
  if (paths.length === 0) throw usageError(`${folder} has no files to upload`);
  const top = basename(resolve(folder));
  return paths.map((path) => fileAt(path, join(top, relative(folder, path)).split(sep).join('/')));
}

function filesAt(path: string): LocalFile[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw usageError(`${path} does not exist`);
  if (found.isDirectory()) return filesIn(path);
  return [fileAt(path, basename(resolve(path)))];
}

export function collectFiles(paths: readonly string[], to: string): LocalFile[] {
  const files = paths.flatMap(filesAt);
  const names = new Set<string>();
  for (const { source, name } of files) {
    if (names.has(name)) throw usageError(`two files have the name ${name}: upload them separately`);
    names.add(name);
    const problem = sharedPathProblem(to + name, MAX_KEY_BYTES);
    if (problem) throw usageError(`${source}: its name in the storage ${problem}`);
    if (files.length > 1 && isLeftOut(name))
      throw usageError(
        `${source} starts with _ or ., and such files under a prefix are skipped: upload it alone`,
      );
  }
  return files;
}
