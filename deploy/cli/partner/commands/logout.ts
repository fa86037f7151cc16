/** `headrace logout`: removes a profile with its keys from this machine. */

import type { Command } from 'commander';
import { configPath, readConfigFile, writeConfigFile } from '../config-file.ts';
import { CommandError, exitCodeHelp, exitCodes } from '../exit-codes.ts';
import { runCommand } from '../run-command.ts';
import { profileOf, withProfile } from '../settings.ts';

export function register(program: Command): void {
  withProfile(
    program
      .command('logout')
      .description('remove a profile with its keys from this machine')
      .option('--json', 'print JSON'),
  )
    .addHelpText('after', exitCodeHelp)
    .action((options: Record<string, unknown>, command: Command) =>
      runCommand(command, async ({ print, say }) => {
        const profile = profileOf(options);
        if (!profile)
          throw new CommandError(
            exitCodes.notAuthorized,
            'not_logged_in',
            'not logged in: no profile is saved',
          );
        const { name, settings } = profile;
        const { default: last, profiles } = readConfigFile();
        const { [name]: _, ...others } = profiles;
        writeConfigFile({
          ...(last === undefined || last === name ? {} : { default: last }),
          profiles: others,
        });
        await print({ profile: name, config: configPath() }, () => [
          `logged out of ${settings.api_url}: removed profile ${name} from ${configPath()}`,
        ]);
        say('the API key stays valid until the operator of the service revokes it');
      }),
    );
}
