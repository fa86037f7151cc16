import type { Command } from 'commander';

export function register(program: Command): void {
  program
    .command('api')
    .description('run the REST API (configured by environment variables)')
    .action(async () => {
      const { parseConfig } = await import('../../../../schemas/config.ts');
      const config = parseConfig(process.env, 'api');
      const { runApi } = await import('../../../../api/server.ts');
      await runApi(config);
    });
}
