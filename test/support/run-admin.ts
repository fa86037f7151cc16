/** `headrace admin …` inside the test's process: a process for each of some hundred commands would only load the same modules again. */
import { Command, CommanderError } from 'commander';
import { registerCommands } from '../../deploy/cli/commands.ts';
import type { Environment } from '../../deploy/local/addresses.ts';
import type { Outcome } from './run-headrace.ts';

/** One after the other, because the exit code belongs to the process. */
let last: Promise<unknown> = Promise.resolve();

async function run(args: readonly string[], env: Environment): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  const program = new Command('headrace').exitOverride().configureOutput({
    writeOut: (text) => {
      stdout += text;
    },
    writeErr: (text) => {
      stderr += text;
    },
  });
  await registerCommands(program, 'admin', { load: () => env, expectedStack: () => undefined });
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await program.parseAsync(['admin', ...args], { from: 'user' });
    return { code: Number(process.exitCode ?? 0), stdout, stderr };
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode, stdout, stderr };
    return { code: 1, stdout, stderr: `${stderr}headrace: ${(error as Error).message}\n` };
  } finally {
    process.exitCode = before;
  }
}

export function runAdmin(args: readonly string[], env: Environment): Promise<Outcome> {
  const outcome = last.then(() => run(args, env));
  last = outcome.catch(() => {});
  return outcome;
}
