/** The last part of `npm run check`: no regular expression in the source backtracks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBacktracking } from './find-backtracking.ts';

const folders = ['api', 'deploy', 'pipeline', 'schemas'];
const root = join(import.meta.dirname, '..', '..');

const files = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  )
  .filter((name) => /\.(?:m?ts|tsx|mjs)$/.test(name));
const findings = files.flatMap((name) =>
  findBacktracking(name, readFileSync(join(root, name), 'utf8')).map(
    ({ line, pattern, reason }) => `${name}:${line} ${pattern}: ${reason}`,
  ),
);
for (const finding of findings) process.stdout.write(`${finding}\n`);
process.stdout.write(
  `${files.length} files, ${findings.length} regular expressions that a client could make slow\n`,
);
process.exitCode = findings.length === 0 && files.length > 0 ? 0 : 1;
