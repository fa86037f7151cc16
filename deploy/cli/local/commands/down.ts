/** `headrace down` */
import type { Command } from 'commander';
import { bytes } from '../../../../api/client/format.ts';
import { printJson } from '../../../../pipeline/runtime/terminal.ts';
import { sizeOfFolder } from '../../../local/cache.ts';
import { takeDown } from '../../../local/stack.ts';
import { readState } from '../../../local/state.ts';
import { confirmFirst, yesOption } from '../../confirm.ts';
import { stateOption } from '../options.ts';
import { sayOnStderr } from '../start-stack.ts';

interface DownOptions {
  state: string;
  purge?: boolean;
  yes?: boolean;
  json?: boolean;
}

async function down({ state, purge, json }: DownOptions, command: Command): Promise<void> {
  const folder = readState(state);
  if (folder && purge)
    await confirmFirst(command, `Delete ${folder.directory} with its data, logs and secrets?`);
  const stopped = Object.keys(folder?.state.processes ?? {});
  const size = folder && purge ? sizeOfFolder(folder.directory) : 0;
  const removed = await takeDown(state, sayOnStderr, { purge });
  if (stopped.length === 0) sayOnStderr(`nothing is running in state folder ${state}`);
  if (removed !== undefined) sayOnStderr(`removed ${removed}: data, logs and secrets, ${bytes(size)}`);
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
    .option(...yesOption)
    .option('--json', 'print a JSON object as the last line')
    .action(down);
}
