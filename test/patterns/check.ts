/** The last part of `npm run check`: no regular expression in the source backtracks, and no import points upward. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findBacktracking } from './find-backtracking.ts';
import { findUpwardImports } from './find-upward-imports.ts';

const folders = ['api', 'deploy', 'pipeline', 'schemas'];
const root = join(import.meta.dirname, '..', '..');

const files = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  )
  .filter((name) => /\.(?:m?ts|tsx|mjs)$/.test(name));
const findings = files.flatMap((name) => {
  const text = readFileSync(join(root, name), 'utf8');
  return [
    ...findBacktracking(name, text).map(
      ({ line, pattern, reason }) =>
        `${name}:${line} ${pattern}: ${reason}, and a client could send such input`,
    ),
    ...findUpwardImports(name, text).map((imported) => `${name} must not import ${imported}`),
  ];
});
for (const finding of findings) process.stdout.write(`${finding}\n`);
process.stdout.write(
  `${files.length} files, ${findings.length} slow regular expressions or forbidden imports\n`,
);
process.exitCode = findings.length === 0 && files.length > 0 ? 0 : 1;
