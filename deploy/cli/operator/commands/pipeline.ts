import { type Command, InvalidArgumentError } from 'commander';
import { type StageName, stageNames } from '../../../../schemas/stages.ts';

function stageList(list: string): StageName[] {
  const stages = list.split(',').map((stage) => stage.trim());
  const known: readonly string[] = stageNames;
  if (stages.every((stage) => known.includes(stage))) return stages as StageName[];
  throw new InvalidArgumentError(`expected one or more of ${stageNames.join(', ')}`);
}

export function register(program: Command): void {
  program
    .command('pipeline')
    .description('run the pipeline (configured by environment variables)')
    .option('--stages <list>', 'run only these stages, separated by commas (default: all)', stageList)
    .action(async ({ stages }: { stages?: StageName[] }) => {
      const { parseConfig } = await import('../../../../schemas/config.ts');
      const config = parseConfig(process.env, 'pipeline');
      const { runPipeline } = await import('../../../../pipeline/worker.ts');
      await runPipeline(config, stages);
    });
}
