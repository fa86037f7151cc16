/** The command line that partners install, with only their commands. deploy/build-cli.mjs bundles it into one file. */
import { endSilentlyOnClosedPipe, printLines } from '../pipeline/runtime/terminal.ts';
import type { Register } from './cli/commands.ts';
import { createProgram } from './cli/program.ts';

/** Set by deploy/build-cli.mjs. */
declare const PARTNER_COMMANDS: readonly string[];

// Silences the AWS SDK's warning that it will need Node 22 in 2027; package.json pins a version that does not.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

async function main(): Promise<void> {
  endSilentlyOnClosedPipe();
  const program = createProgram();
  for (const name of PARTNER_COMMANDS) {
    const { register } = (await import(`./cli/partner/commands/${name}.ts`)) as {
      register: (...args: [Parameters<Register>[0]]) => void;
    };
    register(program);
  }
  await program.parseAsync();
}

main().catch(async (error: Error) => {
  await printLines(process.stderr, (error.stack ?? String(error)).split('\n'));
  process.exit(1);
});
