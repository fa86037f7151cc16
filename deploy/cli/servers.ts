/** The API and the pipeline as a deployment runs them, configured by the environment only. */
import type { Command } from 'commander';
import { StartError } from '../local/start-error.ts';

export function registerServers(program: Command): void {
  program
    .command('api')
    .description('run the REST API (configured by environment variables)')
    .action(async () => {
      const { parseConfig } = await import('../../schemas/config.ts');
      const config = parseConfig(process.env);
      const { runApi } = await import('../../api/server.ts');
      await runApi(config);
    });
  program
    .command('pipeline')
    .description('run the pipeline (configured by environment variables)')
    .option('--stages <list>', 'run only these stages, separated by commas (default: all)', (list: string) =>
      list.split(',').map((stage) => stage.trim()),
    )
    .action(async ({ stages }: { stages?: string[] }) => {
      const { parseConfig } = await import('../../schemas/config.ts');
      const config = parseConfig(process.env);
      const { runPipeline, UnknownStage } = await import('../../pipeline/worker.ts');
      await runPipeline(config, stages).catch((error: unknown) => {
        throw error instanceof UnknownStage ? new StartError('unknown_stage', error.message) : error;
      });
    });
}
