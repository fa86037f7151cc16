/** What a person mistypes is told by the name of the option, before any server is asked. */
import { Command, type CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { registerCommands } from '../../deploy/cli/commands.ts';

/** What is said instead of running the command. */
async function refusalOf(args: string): Promise<string> {
  const program = new Command('headrace').exitOverride().configureOutput({ writeErr: () => {} });
  const load = () => {
    throw new Error('the command was not refused');
  };
  await registerCommands(program, args.split(' ')[0], { load, expectedStack: load });
  const error = await program.parseAsync(args.split(' '), { from: 'user' }).catch((cause) => cause);
  return (error as CommanderError).message;
}

describe('a bad value names its option', () => {
  test.each([
    ['tap nothing', "argument 'topics'"],
    ['tap jobs --job x', "option '--job <number>'"],
    ['tap jobs --type x', "option '--type <name>'"],
    ['tap jobs --from yesterday', "option '--from <place>'"],
    ['tap jobs --until 2026-99-99', "option '--until <place>'"],
    ['tap jobs --limit 0', "option '--limit <n>'"],
    ['tap jobs --format xml', "option '--format <format>'"],
    ['replay', 'expected one of <topic>, --job and --dead-letters'],
    ['replay rows --job 1', 'expected one of <topic>, --job and --dead-letters'],
    ['replay rows --json', '--json needs --yes or --dry-run'],
  ])('headrace %s', async (args, named) => {
    expect(await refusalOf(args)).toContain(named);
  });
});
