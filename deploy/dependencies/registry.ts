/** Checks production dependencies against the registry: advisories, deprecations, the last release. */
import { execFile } from 'node:child_process';
import { inParallel } from '../../pipeline/runtime/in-parallel.ts';
import type { Findings, LockedPackage } from './lock-file.ts';
import { harmless, unmaintained } from './reviewed.ts';

const AT_ONCE = 8;
const ANSWER_MS = 30_000;
const YEAR_MS = 365 * 86_400_000;
/** A direct dependency without a release for this long counts as unmaintained. */
const MAX_YEARS = 2;

interface Metadata {
  'dist-tags': { latest: string };
  /** Release times; only in the full metadata. A mirror may have the time at which it fetched the version. */
  time?: Record<string, string>;
  versions: Record<string, { deprecated?: string }>;
}

async function metadataOf(registry: string, name: string, withTimes: boolean): Promise<Metadata> {
  const response = await fetch(new URL(name.replace('/', '%2f'), registry), {
    headers: { Accept: withTimes ? 'application/json' : 'application/vnd.npm.install-v1+json' },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return (await response.json()) as Metadata;
}

/** Finds deprecated packages, and direct dependencies without a recent release. */
export async function findUnmaintained(
  registry: string,
  packages: LockedPackage[],
  direct: ReadonlySet<string>,
  now = Date.now(),
): Promise<Findings> {
  const names = [...new Set(packages.filter((each) => each.isProduction).map(({ name }) => name))];
  const problems: string[] = [];
  const unknown: string[] = [];
  await inParallel(names, AT_ONCE, async (name) => {
    try {
      const { time, versions, 'dist-tags': tags } = await metadataOf(registry, name, direct.has(name));
      const released = time?.[tags.latest] ?? '';
      if (direct.has(name) && now - Date.parse(released) > MAX_YEARS * YEAR_MS)
        problems.push(`${name} has had no release since ${released.slice(0, 10)}`);
      for (const { version } of packages.filter((each) => each.name === name)) {
        const deprecated = versions[version]?.deprecated;
        if (deprecated) problems.push(`${name} ${version} is deprecated: ${deprecated}`);
      }
    } catch (error) {
      unknown.push(`${name}: ${(error as Error).message}`);
    }
  });
  const isReviewed = (problem: string) =>
    Object.keys(unmaintained).some((name) => problem.startsWith(`${name} `));
  return { problems: problems.filter((problem) => !isReviewed(problem)), unknown };
}

interface Advisory {
  url?: string;
  title?: string;
  severity?: string;
}
interface AuditReport {
  error?: { code?: string; summary?: string };
  message?: string;
  vulnerabilities?: Record<string, { name: string; via: (Advisory | string)[] }>;
}

/** Parses the output of `npm audit --json`. Each advisory once, by its package. */
export function readAudit(output: string): Findings {
  let report: AuditReport;
  try {
    report = JSON.parse(output) as AuditReport;
  } catch {
    return { problems: [], unknown: [`npm audit: ${output.trim().slice(0, 200) || 'no answer'}`] };
  }
  if (!report.vulnerabilities) {
    const why = report.error?.summary || report.error?.code || report.message || 'no answer';
    return { problems: [], unknown: [`npm audit: ${why}`] };
  }
  const advisories = Object.values(report.vulnerabilities).flatMap(({ name, via }) =>
    via.flatMap((each) => (typeof each === 'string' ? [] : [{ ...each, name }])),
  );
  return {
    problems: advisories
      .filter(({ url = '' }) => !(url in harmless))
      .map(({ name, severity, title, url }) => `${name} (${severity}): ${title} ${url}`),
    unknown: [],
  };
}

const npm = (...args: string[]) =>
  new Promise<string>((resolve) => {
    const cwd = new URL('../..', import.meta.url);
    // Exits with 1 on findings, so only the output counts.
    execFile('npm', args, { cwd, maxBuffer: 64 << 20, timeout: 4 * ANSWER_MS }, (_, stdout) =>
      resolve(stdout),
    );
  });

export const findVulnerable = async (): Promise<Findings> =>
  readAudit(await npm('audit', '--omit=dev', '--package-lock-only', '--json'));

export const configuredRegistry = async (): Promise<string> =>
  (await npm('config', 'get', 'registry')).trim();
