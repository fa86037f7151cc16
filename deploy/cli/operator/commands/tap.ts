/** `headrace tap` */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { type MessageName, messages, type TopicKey } from '../../../../schemas/topics.ts';
import type { Environments } from '../../commands.ts';
import { wholeNumber } from '../../parse-options.ts';
import {
  configOf,
  parsePlace,
  type StateOption,
  stateOption,
  topicArgument,
  topicNames,
} from '../options.ts';
import { formats } from '../print-message.ts';
import { type TapOptions, tap } from '../read-messages.ts';

const INTERRUPTED = 130;
const messageNames = Object.keys(messages) as MessageName[];

const topicArguments = (given: string, earlier: TopicKey[] = []) => [
  ...new Set([...earlier, topicArgument(given)]),
];

function messageType(given: string, earlier: MessageName[] = []): MessageName[] {
  const found = messageNames.find((name) => name.toLowerCase() === given.toLowerCase());
  if (!found) throw new InvalidArgumentError(`expected one of ${messageNames.join(', ')}`);
  return [...earlier, found];
}

export function register(program: Command, environments: Environments): void {
  program
    .command('tap')
    .description('print decoded messages of topics; several topics are merged by time')
    .argument('<topics...>', topicNames, topicArguments)
    .option('--job <number>', 'only messages of this job', wholeNumber)
    .option('--partner <id>', 'only messages of jobs of this partner')
    .option('--type <name>', `only this type (repeatable): ${messageNames.join(', ')}`, messageType)
    .option(
      '--from <place>',
      'start at beginning, end, -10m (s, m, h, d, w), a time or an offset (default: beginning)',
      parsePlace,
    )
    .option('--until <place>', 'stop there, as --from; also +10m with --follow (default: end)', parsePlace)
    .option('--limit <n>', 'stop after N messages', wholeNumber)
    .option('--follow', 'keep printing new messages until Ctrl-C')
    .addOption(
      new Option(
        '--format <format>',
        'default: pretty on a terminal, otherwise json, one object per line',
      ).choices(formats),
    )
    .option('--devices', 'show identifiers instead of their number')
    .option('--rows', 'show raw rows instead of their size')
    .addOption(stateOption())
    .action(async (wanted: TopicKey[], options: TapOptions & StateOption) => {
      const config = configOf(environments, options);
      // tap has no state at the brokers to clean up.
      process.once('SIGINT', () => process.exit(INTERRUPTED));
      await tap(config, wanted, options);
    });
}
