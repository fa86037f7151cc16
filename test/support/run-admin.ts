/** `headrace admin …` inside the test process: a process for each of several hundred commands would load the same modules again. */
import type { Environment } from '../../deploy/local/addresses.ts';
import type { Outcome } from './run-headrace.ts';
import { Exited, wholeProgram } from './whole-program.ts';

/** One at a time: the exit code is global to the process. */
let last: Promise<unknown> = Promise.resolve();

async function run(args: readonly string[], env: Environment): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  const program = await wholeProgram(
    'admin',
    { load: () => env, expectedStack: () => undefined },
    {
      writeOut: (text) => {
        stdout += text;
      },
      writeErr: (text) => {
        stderr += text;
      },
    },
  );
  const before = process.exitCode;
  process.exitCode = undefined;
  try {
    await program.parseAsync(['admin', ...args], { from: 'user' });
    return { code: Number(process.exitCode ?? 0), stdout, stderr };
  } catch (error) {
    if (error instanceof Exited) return { code: error.code, stdout, stderr };
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
