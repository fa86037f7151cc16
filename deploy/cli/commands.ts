/**
 * Every file `<group>/commands/<name>.ts` is a command and exports `register`; to add a command, add its file. Only the called command
 * is loaded, so that none waits for drivers it does not use.
 */
import { readdirSync } from 'node:fs';
import type { Command } from 'commander';
import type { Environment } from '../local/addresses.ts';
import { type ExpectedStack, expectedStack, loadEnvironment } from './environment.ts';

/** The environments that name the servers. */
export interface Environments {
  load(stateDirectory?: string): Environment;
  expectedStack(stateDirectory?: string): ExpectedStack | undefined;
}
export type Register = (parent: Command, environments: Environments) => void;

/** Set by deploy/build.mjs: a bundle has no folders. */
declare const COMMAND_FILES: readonly string[] | undefined;
const files =
  typeof COMMAND_FILES === 'undefined'
    ? (readdirSync(import.meta.dirname, { recursive: true }) as string[])
    : COMMAND_FILES;
interface CommandFile {
  group: string;
  name: string;
}
const commandFiles: CommandFile[] = files
  .flatMap((file) => {
    const [, group, name] = /^(\w+)\/commands\/([\w-]+)\.ts$/.exec(file) ?? [];
    return group && name ? [{ group, name }] : [];
  })
  .sort((a, b) => a.name.localeCompare(b.name));

/** In the order of `headrace --help`. */
const headings: Record<string, string> = {
  local: 'On this machine:',
  partner: 'For partners:',
  load: 'Load tests:',
  operator: 'For operators:',
  admin: 'Administration:',
};

function adminOf(program: Command): Command {
  const known = program.commands.find((command) => command.name() === 'admin');
  return known ?? program.command('admin').description('manage partners, keys, attributes and jobs');
}

/** Describes all other commands. */
const needsAll = 'completion';

/** Registers the command of this name, or all commands if there is none. */
export async function registerCommands(
  program: Command,
  wanted?: string,
  environments: Environments = { load: loadEnvironment, expectedStack },
): Promise<void> {
  const isNamed = ({ group, name }: CommandFile) => wanted === (group === 'admin' ? group : name);
  const named = wanted === needsAll ? [] : commandFiles.filter(isNamed);
  for (const [group, heading] of Object.entries(headings)) {
    program.commandsGroup(heading);
    for (const { name } of (named.length > 0 ? named : commandFiles).filter((file) => file.group === group)) {
      const parent = group === 'admin' ? adminOf(program) : program;
      if (parent.commands.some((command) => command.name() === name)) continue;
      const { register } = (await import(`./${group}/commands/${name}.ts`)) as { register: Register };
      register(parent, environments);
    }
  }
}
