/** Runs a measurement on a fresh service, with a CPU profile if requested. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../deploy/local/addresses.ts';
import type { Cluster } from '../../deploy/local/names.ts';
import { type Bench, startBenchStack } from './bench-stack.ts';
import type { MeasureWindow } from './profile-summary.ts';
import { summarizeProfiles } from './profile-summary.ts';
import type { Progress } from './progress.ts';

interface RunOptions {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly profile: boolean;
  readonly keep: boolean;
  readonly cluster: Cluster;
  say(lines: readonly string[]): void;
}

export type RunOn = ReturnType<typeof createRunOn>;

interface Measured {
  readonly use?: { readonly window: MeasureWindow };
  readonly together?: Measured | null;
}

const wholeTime: MeasureWindow = { fromUs: 0, toUs: Number.POSITIVE_INFINITY };

/** The time span of the measurement, if the result has one; otherwise the whole profile is summarized. */
function windowOf(result: unknown): MeasureWindow {
  const { use, together } = (result ?? {}) as Measured;
  return (use ?? together?.use)?.window ?? wholeTime;
}

export function createRunOn({ progress, signal, profile, keep, cluster, say }: RunOptions) {
  return async <T>(
    name: string,
    measure: (bench: Bench) => Promise<T>,
    settings: Environment = {},
  ): Promise<T> => {
    const profileTo = profile ? mkdtempSync(join(tmpdir(), `headrace-profile-${name}-`)) : undefined;
    const stack = await startBenchStack({ report: progress.step, signal, cluster, settings, profileTo });
    let result: T | undefined;
    try {
      result = await measure({ stack, progress, signal });
      return result;
    } finally {
      await stack.stop({ keep });
      if (keep)
        progress.step(
          `everything is still running; to stop it: npx headrace down --purge --yes --state ${stack.directory}`,
        );
      if (profileTo !== undefined && keep)
        progress.step(`the profile will be written to ${profileTo} when the pipeline stops`);
      if (profileTo !== undefined && !keep) say([...summarizeProfiles(profileTo, windowOf(result)), '']);
    }
  };
}
