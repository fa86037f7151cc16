/** `headrace replay` */

import type { Command } from 'commander';
import type { TopicKey } from '../../../../schemas/topics.ts';
import type { Environments } from '../../commands.ts';
import { yesOption } from '../../confirm.ts';
import { wholeNumber } from '../../parse-options.ts';
import { configOf, type StateOption, stateOption, topicArgument, topicNames } from '../options.ts';
import { planDeadLetters, planJob, planTopic, type ReplayOptions, replay } from '../plan-replay.ts';

type Options = ReplayOptions & StateOption & { job?: number; deadLetters?: boolean };

export function register(program: Command, environments: Environments): void {
  program
    .command('replay')
    .description('publish messages again, after confirmation; counts and device sets do not change')
    .argument('[topic]', `all messages of a topic: ${topicNames}`, topicArgument)
    .option('--job <number>', 'the messages of a job, on every topic', wholeNumber)
    .option('--dead-letters', 'republish dead letters that can be decoded now')
    .option(...yesOption)
    .option('--dry-run', 'only show what would be published')
    .option('--json', 'print a JSON object; needs --yes or --dry-run')
    .addOption(stateOption())
    .action(async (topic: TopicKey | undefined, options: Options, command: Command) => {
      const { job, deadLetters, json, yes, dryRun } = options;
      if ([topic, job, deadLetters].filter((one) => one !== undefined).length !== 1)
        command.error('error: expected one of <topic>, --job and --dead-letters');
      if (json && !yes && !dryRun) command.error('error: --json needs --yes or --dry-run');
      const config = configOf(environments, options);
      const plan = await (topic
        ? planTopic(config, topic)
        : job
          ? planJob(config, job)
          : planDeadLetters(config));
      await replay(config, plan, options, command);
    });
}
