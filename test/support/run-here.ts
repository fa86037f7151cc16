/**
 * `headrace …` inside the test process, for files with dozens of commands: a process for each would load the same modules again.
 * Signals, terminals and standard input need a process (run-headrace.ts).
 */

import { tellAndExit } from '../../deploy/cli/fail.ts';
import type { Environment } from '../../deploy/local/addresses.ts';
import { cleanEnvironment, type Outcome } from './run-headrace.ts';
import { Exited, wholeProgram } from './whole-program.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function exit(code?: number | string | null): never {
  throw new Exited(Number(code ?? process.exitCode ?? 0));
}

/** As deploy/headrace.ts does. Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  try {
    const program = await wholeProgram(args[0]);
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof Exited) return error.code;
    return tellAndExit(error);
  }
}

/** Lends the process to a command: variables, arguments, output, exit code and signal handlers. */
async function lend(args: readonly string[], variables: Environment): Promise<Outcome> {
  const { argv, env, exitCode, stdout, stderr, exit: ourExit } = process;
  const handlers = signals.map((signal) => process.listeners(signal));
  const streams = [stdout, stderr].map((stream) => ({ stream, write: stream.write, output: '' }));
  for (const one of streams)
    one.stream.write = (text: string | Uint8Array) => {
      one.output += String(text);
      return true;
    };
  process.env = { ...cleanEnvironment(), ...variables };
  Object.assign(process, { argv: [...argv.slice(0, 2), ...args], exit });
  process.exitCode = undefined;
  try {
    const code = await main(args).catch((error: Exited) => error.code);
    const [out, err] = streams;
    return { code, stdout: out!.output, stderr: err!.output };
  } finally {
    Object.assign(process, { argv, env, exitCode, exit: ourExit });
    for (const { stream, write } of streams) stream.write = write;
    for (const [i, signal] of signals.entries())
      for (const handler of process.listeners(signal))
        if (!handlers[i]!.includes(handler)) process.removeListener(signal, handler);
  }
}

/** One at a time. */
let last: Promise<unknown> = Promise.resolve();

export function runHere(args: readonly string[], variables: Environment = {}): Promise<Outcome> {
  const outcome = last.then(() => lend(args, variables));
  last = outcome.catch(() => {});
  return outcome;
}
