/** `headrace logout`: removes a profile with its keys from this machine. */

import type { Command } from 'commander';
import { configPath, readConfigFile, writeConfigFile } from '../config-file.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { profileOf, withProfile } from '../settings.ts';
import { addLocalCommand } from '../subcommands.ts';

export function register(program: Command): void {
  withProfile(addLocalCommand(program, 'logout', 'remove a profile with its keys from this machine')).runs(
    async ({ print, say }, options: Record<string, unknown>) => {
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
    },
  );
}
