/** `headrace audience …`: first-party audiences, for the partner or a customer. */
import type { Command } from 'commander';
import { audiencePath, listRecords } from '../../../../api/client/client.ts';
import type { Audience, Load } from '../../../../api/client/types.ts';
import { wholeNumber } from '../../parse-options.ts';
import { registerAudienceReport } from '../audience-report.ts';
import { audienceDetails, audienceLines, loadOutcome } from '../audience-views.ts';
import { dryRun, withDryRun } from '../dry-run.ts';
import { usageError } from '../exit-codes.ts';
import { followJobs } from '../follow-job.ts';
import { rejectedText } from '../import-views.ts';
import { printRejects } from '../rejected-rows.ts';
import type { CommandContext } from '../run-command.ts';
import { addCommand, addGroup, type ListOptions, withFollow, withListOptions } from '../subcommands.ts';
import { sourcesOf, type UploadFlags, withUpload } from '../upload.ts';

interface LoadOptions extends UploadFlags {
  follow?: boolean;
}
interface CreateOptions extends LoadOptions {
  name: string;
  dryRun?: boolean;
}

const SHOWN_LOADS = 10;
const id = ['<id>', 'audience_id', wholeNumber] as const;
const paths = ['<path...>', 'paths below your prefix, or local paths with --upload'] as const;

const loadIdOf = (location: string | null) => Number(/\/loads\/(\d+)$/.exec(location ?? '')?.[1]);

async function newestLoads({ api }: CommandContext, audience: number, limit: number): Promise<Load[]> {
  return (await api.get<Load[]>(`${audiencePath}/${audience}/loads?limit=${limit}`)).data;
}

function followLoads(context: CommandContext, audience: number, loads: readonly number[]): Promise<void> {
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

export function register(program: Command): void {
  const group = addGroup(
    program,
    'audience',
    'create, append to, rename, clear and delete audiences, show and share their reports',
  );

  withFollow(
    withDryRun(
      withUpload(addCommand(group, 'create', 'create an audience and load a file or a prefix into it')),
    ),
  )
    .argument(...paths)
    .requiredOption('--name <name>', 'name of the audience')
    .runs(async (context, given: string[], options: CreateOptions) => {
      if (given.length > 1 && !options.upload)
        throw usageError('an audience is created from one path: use a prefix, or append the other paths');
      const [file_path] = await sourcesOf(context, given, options);
      const request = { name: options.name, file_path };
      if (options.dryRun) return dryRun(context, audiencePath, [request]);
      const { data } = await context.api.change<{ audience_id: number }>('POST', audiencePath, request);
      // The first load has the id of its audience.
      if (options.follow) return followLoads(context, data.audience_id, [data.audience_id]);
      await context.print({ ...data, file_path }, () => [
        `created audience ${data.audience_id}, loading ${file_path}`,
      ]);
    });

  withFollow(withUpload(addCommand(group, 'append', 'load more files into an audience')))
    .argument(...id)
    .argument(...paths)
    .runs(async (context, audience: number, given: string[], options: LoadOptions) => {
      const loads: number[] = [];
      const sources = await sourcesOf(context, given, options);
      for (const file_path of sources) {
        const target = `${audiencePath}/${audience}`;
        loads.push(loadIdOf((await context.api.change('PATCH', target, { file_path })).location));
      }
      if (options.follow) return followLoads(context, audience, loads);
      for (const [i, load_id] of loads.entries())
        await context.print({ audience_id: audience, load_id, file_path: sources[i] }, () => [
          `load ${load_id} of audience ${audience}: ${sources[i]}`,
        ]);
    });

  addCommand(group, 'clear', 'permanently remove all devices from an audience')
    .argument(...id)
    .confirms((audience) => `Remove all devices from audience ${audience} permanently?`)
    .runs(async ({ api, print }, audience: number) => {
      await api.change('PUT', `${audiencePath}/${audience}`);
      await print({ audience_id: audience, cleared: true }, () => [`audience ${audience} is empty`]);
    });

  addCommand(group, 'rename', 'rename an audience')
    .argument(...id)
    .argument('<name>', 'its new name')
    .runs(async ({ api, print }, audience: number, name: string) => {
      await api.change('PATCH', `${audiencePath}/${audience}`, { name });
      await print({ audience_id: audience, name }, () => [`audience ${audience} is now named ${name}`]);
    });

  addCommand(group, 'delete', 'permanently delete an audience with its devices, loads and report')
    .argument(...id)
    .confirms((audience) => `Delete audience ${audience} permanently?`)
    .runs(async ({ api, print }, audience: number) => {
      await api.change('DELETE', `${audiencePath}/${audience}`);
      await print({ audience_id: audience, deleted: true }, () => [`audience ${audience} is deleted`]);
    });

  withListOptions(addCommand(group, 'list', 'list audiences, newest first')).runs(
    async ({ api, print, colours }, options: ListOptions) => {
      const audiences = await listRecords<Audience>(api, audiencePath, options);
      await print(audiences, () => audienceLines(audiences, colours));
    },
  );

  withFollow(addCommand(group, 'show', 'show an audience and its last loads'), 'the end of its last load')
    .argument(...id)
    .runs(async (context, audience: number, options: { follow?: boolean }) => {
      const loads = await newestLoads(context, audience, options.follow ? 1 : SHOWN_LOADS);
      if (options.follow)
        return followLoads(
          context,
          audience,
          loads.map((load) => load.load_id),
        );
      const { data } = await context.api.get<Audience>(`${audiencePath}/${audience}`);
      await context.print(data, () => audienceDetails(data, loads, context.colours));
    });

  registerAudienceReport(group);

  addCommand(group, 'rejects', 'show the rejected rows of an audience')
    .argument(...id)
    .runs(async (context, audience: number) =>
      printRejects(context, await context.api.open(`${audiencePath}/${audience}/rejects`)),
    );
}
