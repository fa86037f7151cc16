/** `headrace load` */

import type { Command } from 'commander';
import { withStorage } from '../../partner/settings.ts';
import { addCommand } from '../../partner/subcommands.ts';
import { type LoadOptions, withLoadOptions } from '../options.ts';

export function register(program: Command): void {
  withStorage(withLoadOptions(addCommand(program, 'load', 'load-test a service with generated files'))).runs(
    async (context, options: LoadOptions) => {
      // Lazy: the storage client is large, and most commands do not need it.
      const { runLoad } = await import('../run-load.ts');
      await runLoad(context, options);
    },
  );
}
