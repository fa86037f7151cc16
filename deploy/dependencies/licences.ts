/** The licences of all production dependencies, as a page under deploy/. */
import type { LockedPackage } from './lock-file.ts';
import { allowedLicences } from './reviewed.ts';

export const licencePage = new URL('../LICENCES.md', import.meta.url);

function production(packages: LockedPackage[]): LockedPackage[] {
  const byId = new Map(
    packages.filter((each) => each.isProduction).map((each) => [`${each.name}@${each.version}`, each]),
  );
  return [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** `(MIT OR CC0-1.0)`: one must be allowed; `A AND B`: both. */
const isAllowed = (licence: string): boolean =>
  licence
    .replace(/^\(|\)$/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((each) => allowedLicences.has(each)));

export const licenceProblems = (packages: LockedPackage[]): string[] =>
  production(packages)
    .filter(({ license }) => license === undefined || !isAllowed(license))
    .map(({ name, version, license }) => `${name}@${version} has the licence ${license ?? '(none)'}`);

export function renderLicences(packages: LockedPackage[]): string {
  const all = production(packages);
  const licences = [...new Set(all.map(({ license = '(none)' }) => license))].sort();
  const listed = (licence: string) =>
    all
      .filter(({ license = '(none)' }) => license === licence)
      .map(({ name, version }) => `${name} ${version}`);
  return [
    '# Licences of production dependencies',
    '',
    `${all.length} packages, from package-lock.json; platform packages that are not installed everywhere included.`,
    'Written by `npm run check:dependencies -- --write`.',
    '',
    ...licences.flatMap((licence) => [`**${licence}**: ${listed(licence).join(', ')}`, '']),
  ].join('\n');
}
