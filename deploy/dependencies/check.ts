/**
 * `npm run check:dependencies`: fails on vulnerable or unmaintained production dependencies, packages without integrity, unreviewed
 * licences, and an outdated list of licences. What the registry does not answer is reported as not known;
 * `--strict` fails on that, too. `--write` writes the list of licences.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import packageJson from '../../package.json' with { type: 'json' };
import { licencePage, licenceProblems, renderLicences } from './licences.ts';
import { checkIntegrity, type Findings, readLockFile } from './lock-file.ts';
import { configuredRegistry, findUnmaintained, findVulnerable } from './registry.ts';
import { harmless, unmaintained } from './reviewed.ts';

const options = process.argv.slice(2);
const packages = readLockFile();
const count = packages.filter((each) => each.isProduction).length;
const certain = (problems: string[]): Findings => ({ problems, unknown: [] });

if (options.includes('--write')) writeFileSync(licencePage, renderLicences(packages));
const isCurrent =
  existsSync(licencePage) && readFileSync(licencePage, 'utf8') === renderLicences(packages)
    ? []
    : ['deploy/LICENCES.md is out of date: npm run check:dependencies -- --write'];

const checks: [what: string, find: () => Promise<Findings> | Findings][] = [
  [`integrity of ${packages.length} packages`, () => checkIntegrity(packages)],
  [`licences of ${count} production packages`, () => certain([...licenceProblems(packages), ...isCurrent])],
  [`advisories about ${count} production packages`, findVulnerable],
  [
    'deprecated and unmaintained production packages',
    async () =>
      findUnmaintained(await configuredRegistry(), packages, new Set(Object.keys(packageJson.dependencies))),
  ],
];

for (const [what, reason] of Object.entries({ ...unmaintained, ...harmless }))
  process.stdout.write(`exception   ${what}: ${reason}\n`);

let failed = 0;
let incomplete = 0;
for (const [what, find] of checks) {
  const { problems, unknown } = await find();
  const verdict = problems.length > 0 ? 'FAILED' : unknown.length > 0 ? 'INCOMPLETE' : 'ok';
  process.stdout.write(`${verdict.padEnd(10)}  ${what}\n`);
  for (const problem of problems) process.stdout.write(`${' '.repeat(12)}${problem}\n`);
  for (const each of unknown) process.stdout.write(`${' '.repeat(12)}not known: ${each}\n`);
  if (problems.length > 0) failed++;
  if (unknown.length > 0) incomplete++;
}
process.stdout.write(
  `${checks.length} checks, ${failed} failed${incomplete > 0 ? `, ${incomplete} incomplete` : ''}\n`,
);
process.exitCode = failed > 0 || (incomplete > 0 && options.includes('--strict')) ? 1 : 0;
