/** The first look at a CPU profile: the functions with the most time of their own. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const TOP = 25;

interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  samples: number[];
  timeDeltas: number[];
}

export interface ProfiledFunction {
  readonly name: string;
  readonly where: string;
  readonly selfMs: number;
}

/** Enough of a path to know the file, without what is the same for all of them. */
function shorten(url: string): string {
  const path = url.replace(/^file:\/\//, '').replace(/\?.*$/, '');
  const inside = /(?:node_modules\/|\/(?=(?:api|pipeline|schemas|deploy)\/))(.+)$/.exec(path);
  return inside?.[1] ?? path;
}

export function selfTimes(profile: CpuProfile): ProfiledFunction[] {
  const self = new Map<number, number>();
  for (const [i, node] of profile.samples.entries()) {
    self.set(node, (self.get(node) ?? 0) + profile.timeDeltas[i]! / 1_000);
  }
  const functions = new Map<string, { name: string; where: string; selfMs: number }>();
  for (const { id, callFrame } of profile.nodes) {
    const name = callFrame.functionName || '(anonymous)';
    const where = callFrame.url ? `${shorten(callFrame.url)}:${callFrame.lineNumber + 1}` : '';
    const known = functions.get(`${name} ${where}`) ?? { name, where, selfMs: 0 };
    known.selfMs += self.get(id) ?? 0;
    functions.set(`${name} ${where}`, known);
  }
  return [...functions.values()].toSorted((a, b) => b.selfMs - a.selfMs);
}

/** One profile a thread. */
export function summarizeProfiles(directory: string): string[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'));
  if (files.length === 0) return [`no profile in ${directory}: the pipeline did not end by itself`];
  return files.flatMap((file) => {
    const all = selfTimes(JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile);
    const busy = all.filter(({ name }) => name !== '(idle)');
    const total = busy.reduce((sum, { selfMs }) => sum + selfMs, 0);
    const top = busy.slice(0, TOP).map(({ name, where, selfMs }) => {
      const percent = ((100 * selfMs) / total).toFixed(1).padStart(5);
      return `  ${percent} % ${selfMs.toFixed(0).padStart(7)} ms  ${name}  ${where}`;
    });
    return [`profile ${join(directory, basename(file))}: ${(total / 1_000).toFixed(1)} s busy`, ...top];
  });
}
