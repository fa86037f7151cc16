/** Reads and checks package-lock.json. */
import { readFileSync } from 'node:fs';

export interface Findings {
  problems: string[];
  /** What could not be determined, and why. */
  unknown: string[];
}

export interface LockedPackage {
  name: string;
  version: string;
  integrity: string | undefined;
  resolved: string | undefined;
  license: string | undefined;
  isProduction: boolean;
  /** An optional build that is not for Linux on x64. */
  isForOtherPlatform: boolean;
}

interface Entry {
  version: string;
  integrity?: string;
  resolved?: string;
  license?: string;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

/** The reference image and the machines of the tests: Linux on x64 with glibc. */
const isForLinux = ({
  os = ['linux'],
  cpu = ['x64'],
  libc = ['glibc'],
}: Pick<Entry, 'os' | 'cpu' | 'libc'>) =>
  os.includes('linux') && cpu.includes('x64') && libc.includes('glibc');

/** `node_modules/a/node_modules/@b/c` → `@b/c` */
const nameIn = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

export function parseLockFile(text: string): LockedPackage[] {
  const { packages } = JSON.parse(text) as { packages: Record<string, Entry> };
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version, integrity, resolved, license, ...entry }]) => ({
      name: nameIn(path),
      version,
      integrity,
      resolved,
      license,
      isProduction: !entry.dev && !entry.devOptional,
      isForOtherPlatform: entry.optional === true && !isForLinux(entry),
    }));
}

export const readLockFile = (): LockedPackage[] =>
  parseLockFile(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));

const nameOf = ({ name, version }: LockedPackage) => `${name}@${version}`;

/**
 * Without a hash, npm would install anything that the registry serves. `resolved` would tie all users to one registry. The registry that
 * the lock file was written with may lack builds of development tools for other platforms, so their hashes are unknown.
 */
export function checkIntegrity(packages: LockedPackage[]): Findings {
  const lacking = packages.filter(({ integrity }) => !integrity?.startsWith('sha512-'));
  const mayLack = (each: LockedPackage) => each.isForOtherPlatform && !each.isProduction;
  const unhashed = lacking.filter(mayLack).map(nameOf);
  return {
    problems: [
      ...lacking
        .filter((each) => !mayLack(each))
        .map((each) => `${nameOf(each)} has no sha512 integrity in package-lock.json`),
      ...packages
        .filter(({ resolved }) => resolved !== undefined)
        .map((each) => `${nameOf(each)} names a registry in package-lock.json`),
    ],
    unknown:
      unhashed.length === 0
        ? []
        : [
            `the integrity of ${unhashed.length} development tools on other platforms: ${unhashed.join(', ')}`,
          ],
  };
}
