/** Runs a command that starts servers and processes; returns its exit code. */
import type { Command } from 'commander';

export async function runCommand<O>(program: Command, run: (options: O) => Promise<number>): Promise<never> {
  program.showHelpAfterError().action(async (options: O) => {
    process.exitCode = await run(options);
  });
  // Exiting kills the processes, and the guardian stops the servers.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  await program.parseAsync();
  process.exit();
}
