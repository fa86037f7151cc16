/** Follows loads of an audience and prints their outcome. */
import { audiencePath } from '../../../api/client/client.ts';
import type { Load } from '../../../api/client/types.ts';
import { loadOutcome } from './audience-views.ts';
import { followJobs } from './follow-job.ts';
import { rejectedText } from './import-views.ts';
import type { CommandContext } from './run-command.ts';

export function followLoads(
  context: CommandContext,
  audience: number,
  loads: readonly number[],
): Promise<void> {
  const { api, print, say, colours } = context;
  const jobs = loads.map((id) => ({
    name: `load ${id} of audience ${audience}`,
    path: `${audiencePath}/${audience}/loads/${id}`,
    again: `headrace audience show ${audience} --follow`,
  }));
  return followJobs(context, jobs, async (path) => {
    const { data } = await api.get<Load & { file: unknown }>(path);
    const { file: _, ...load } = data;
    await print({ audience_id: audience, ...load }, () => loadOutcome(audience, load, colours));
    const rejected = rejectedText(load.rows_rejected ?? {});
    if (rejected !== '')
      say(`rejected rows: ${rejected}; show them with: headrace audience rejects ${audience}`);
    return load;
  });
}
