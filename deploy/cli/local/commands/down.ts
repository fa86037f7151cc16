/** `headrace down` */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { printJson } from '../../../../pipeline/runtime/terminal.ts';
import { takeDown } from '../../../local/stack.ts';
import { readState } from '../../../local/state.ts';
import { stateOption } from '../options.ts';
import { sayOnStderr } from '../start-stack.ts';

/** The size of all files in a folder, without those that vanish meanwhile. */
function sizeOf(directory: string): number {
  const names = readdirSync(directory, { recursive: true }) as string[];
  const size = (name: string) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false });
    return found?.isFile() ? found.blocks * 512 : 0;
  };
  return names.reduce((sum, name) => sum + size(name), 0);
}

async function down({
  state,
  purge,
  json,
}: {
  state: string;
  purge?: boolean;
  json?: boolean;
}): Promise<void> {
  const folder = readState(state);
  const stopped = Object.keys(folder?.state.processes ?? {});
  const megabytes = folder && purge ? (sizeOf(folder.directory) / 1e6).toFixed(0) : 0;
  const removed = await takeDown(state, sayOnStderr, { purge });
  if (stopped.length === 0) sayOnStderr(`nothing is running in state folder ${state}`);
  if (removed !== undefined) sayOnStderr(`removed ${removed}: data, logs and secrets, ${megabytes} MB`);
  else if (purge) sayOnStderr(`nothing to remove: no stack has been started in ${state}`);
  const result = { stopped, purged: Boolean(purge), ...(purge ? { removed: removed ?? null } : {}) };
  if (json) await printJson(process.stdout, result);
}

export function register(program: Command): void {
  program
    .command('down')
    .description('stop the processes started by up')
    .option(...stateOption)
    .option('--purge', 'also delete the state folder: data, logs, secrets')
    .option('--json', 'print a JSON object as the last line')
    .action(down);
}
