/** A summary of a CPU profile: the functions with the most self time during the measurement. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The time span of a measurement on the monotonic clock that CPU profiles of other processes share: microseconds since boot. */
export interface MeasureWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

const now = () => Number(process.hrtime.bigint() / 1_000n);

export function openWindow(): () => MeasureWindow {
  const fromUs = now();
  return () => ({ fromUs, toUs: now() });
}

const TOP = 25;
/** A thread below this is idle and is left out. */
const LEAST_BUSY_MS = 50;

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  startTime: number;
  samples: number[];
  timeDeltas: number[];
}

interface ProfiledFunction {
  name: string;
  where: string;
  selfMs: number;
}

/** The file's path without the common prefix. Transpiled files have one line. */
function placeOf(url: string, lineNumber: number): string {
  if (url === '') return '';
  const path = url.replace(/^file:\/\//, '').replace(/\?.*$/, '');
  const inside = /(?:node_modules\/|\/(?=(?:api|pipeline|schemas|deploy)\/))(.+)$/.exec(path);
  return `${inside?.[1] ?? path}${lineNumber > 0 ? `:${lineNumber + 1}` : ''}`;
}

function selfMsByNode(profile: CpuProfile, { fromUs, toUs }: MeasureWindow): Map<number, number> {
  const self = new Map<number, number>();
  let at = profile.startTime;
  for (const [i, node] of profile.samples.entries()) {
    const delta = profile.timeDeltas[i]!;
    at += delta;
    if (at >= fromUs && at <= toUs) self.set(node, (self.get(node) ?? 0) + delta / 1_000);
  }
  return self;
}

function selfTimes(profile: CpuProfile, window: MeasureWindow): ProfiledFunction[] {
  const self = selfMsByNode(profile, window);
  const functions = new Map<string, ProfiledFunction>();
  for (const { id, callFrame } of profile.nodes) {
    const name = callFrame.functionName || '(anonymous)';
    const where = placeOf(callFrame.url, callFrame.lineNumber);
    const key = `${name} ${where}`;
    const known = functions.get(key) ?? { name, where, selfMs: 0 };
    known.selfMs += self.get(id) ?? 0;
    functions.set(key, known);
  }
  return [...functions.values()].toSorted((a, b) => b.selfMs - a.selfMs);
}

function summarize(file: string, window: MeasureWindow): string[] {
  const all = selfTimes(JSON.parse(readFileSync(file, 'utf8')) as CpuProfile, window);
  const busy = all.filter(({ name }) => name !== '(idle)');
  const total = busy.reduce((sum, { selfMs }) => sum + selfMs, 0);
  if (total < LEAST_BUSY_MS) return [];
  const seconds = (window.toUs - window.fromUs) / 1e6;
  const top = busy.slice(0, TOP).map(({ name, where, selfMs }) => {
    const percent = ((100 * selfMs) / total).toFixed(1).padStart(5);
    return `  ${percent} % ${selfMs.toFixed(0).padStart(7)} ms  ${name}  ${where}`;
  });
  return [
    `profile ${file}: ${(total / 1_000).toFixed(2)} s busy of ${seconds.toFixed(2)} s measured`,
    ...top,
  ];
}

/** One profile per thread. */
export function summarizeProfiles(directory: string, window: MeasureWindow): string[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'));
  if (files.length === 0) return [`no profile in ${directory}: the pipeline did not end by itself`];
  return files.flatMap((file) => summarize(join(directory, file), window));
}
