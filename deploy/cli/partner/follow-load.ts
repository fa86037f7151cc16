/** Follows loads of an audience and prints their outcome. */
import { audiencePath } from '../../../api/client/client.ts';
import type { Load } from '../../../api/client/types.ts';
import { loadOutcome } from './audience-views.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { followJob } from './follow-job.ts';
import { rejectedText } from './import-views.ts';
import type { CommandContext } from './run-command.ts';

/** With `--json`, prints the load's record with its audience id. */
async function printLoad(context: CommandContext, audience: number, path: string): Promise<Load> {
  const { data } = await context.api.get<Load & { file: unknown }>(path);
  const { file: _, ...load } = data;
  await context.print({ audience_id: audience, ...load }, () => loadOutcome(audience, load, context.colours));
  const rejected = rejectedText(load.rows_rejected ?? {});
  if (rejected !== '')
    context.say(`rejected rows: ${rejected}; show them with: headrace audience rejects ${audience}`);
  return load;
}

export async function followLoads(
  context: CommandContext,
  audience: number,
  loads: readonly number[],
): Promise<void> {
  const failed: number[] = [];
  for (const id of loads) {
    const path = `${audiencePath}/${audience}/loads/${id}`;
    const followed = {
      name: `load ${id} of audience ${audience}`,
      path,
      again: `headrace audience show ${audience} --follow`,
    };
    try {
      await followJob(context.api, followed, context);
    } catch (error) {
      if (error instanceof CommandError && error.exitCode === exitCodes.stillRunning)
        await printLoad(context, audience, path);
      throw error;
    }
    if ((await printLoad(context, audience, path)).status === 3) failed.push(id);
  }
  if (failed.length > 0)
    throw new CommandError(
      exitCodes.jobFailed,
      'job_failed',
      `load ${failed.join(', ')} of audience ${audience} failed`,
    );
}
