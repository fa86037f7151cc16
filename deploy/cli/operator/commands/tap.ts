/** `headrace tap`, `topics`, `replay`, `doctor` and `config`: for those who read the topics or have to mend something. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseConfig, type Role } from '../../../../schemas/config.ts';
import { type MessageName, messages, type TopicKey, topics } from '../../../../schemas/topics.ts';
import { checkSettings, type DoctorOptions, doctor } from '../doctor/doctor.ts';
import { parsePlace } from '../places.ts';
import { planDeadLetters, planJob, planTopic, type ReplayOptions, replay } from '../plan-replay.ts';
import { formats } from '../print-message.ts';
import { type TapOptions, tap } from '../read-messages.ts';
import { listTopics } from './topics.ts';
import { settingsReference } from '../../../../schemas/settings-reference.ts';

type LoadEnvironment = (stateDir?: string) => Record<string, string | undefined>;

type ReplayCommand = ReplayOptions & { job?: number; deadLetters?: boolean; state?: string };

const INTERRUPTED = 130;
const topicKeys = Object.keys(topics) as TopicKey[];
const topicNames = topicKeys.map((key) => topics[key].name).join(', ');
const messageNames = Object.keys(messages) as MessageName[];

function topicArgument(given: string): TopicKey {
  const found = topicKeys.find((key) =>
    [key, topics[key].name, `ingest.${topics[key].name}`].includes(given),
  );
  if (!found) throw new InvalidArgumentError(`expected one of ${topicNames}`);
  return found;
}
const topicArguments = (given: string, earlier: TopicKey[] = []) => [
  ...new Set([...earlier, topicArgument(given)]),
];

function messageType(given: string, earlier: MessageName[] = []): MessageName[] {
  const found = messageNames.find((name) => name.toLowerCase() === given.toLowerCase());
  if (!found) throw new InvalidArgumentError(`expected one of ${messageNames.join(', ')}`);
  return [...earlier, found];
}

const wholeNumber = (text: string) => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a whole number from 1 on');
  return Number(text);
};

const stateOption = () =>
  new Option('--state <dir>', 'the local stack in this folder, instead of the servers in the environment');
const roleOption = (roles: readonly Role[]) =>
  new Option('--role <role>', 'check only what this process uses (default: everything)').choices(roles);

export function registerPipelineCommands(program: Command, loadEnvironment: LoadEnvironment): void {
  const configOf = ({ state }: { state?: string }) => parseConfig(loadEnvironment(state), 'operator');

  program
    .command('tap')
    .description('print the messages of topics, decoded; several topics in the order of their times')
    .argument('<topics...>', topicNames, topicArguments)
    .option('--job <number>', 'only messages of this job', wholeNumber)
    .option('--partner <id>', 'only messages of jobs of this partner')
    .option('--type <name>', `only this type; may be repeated: ${messageNames.join(', ')}`, messageType)
    .option(
      '--from <place>',
      'beginning, end, -10m (s, m, h, d, w), a time or an offset (default: beginning)',
      parsePlace,
    )
    .option('--until <place>', 'where to end, as --from; also +10m with --follow (default: end)', parsePlace)
    .option('--limit <count>', 'end after so many messages', wholeNumber)
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
    .action(async (wanted: TopicKey[], options: TapOptions & { state?: string }) => {
      const config = configOf(options);
      // Nothing is left behind at the brokers, so nothing has to be put in order.
      process.once('SIGINT', () => process.exit(INTERRUPTED));
      await tap(config, wanted, options);
    });

  program
    .command('topics')
    .description('list the topics: what each is for, what it holds, how far its stage is behind')
    .option('--json', 'print a JSON array')
    .addOption(stateOption())
    .action((options: { json?: boolean; state?: string }) => listTopics(configOf(options), options));

  program
    .command('doctor')
    .description(
      'check settings, connections, rights, topics, indexes and clocks; exits with 1 if something is wrong',
    )
    .addOption(roleOption(['api', 'pipeline']))
    .option('--json', 'print a JSON object')
    .addOption(stateOption())
    .action((options: DoctorOptions & { state?: string }) => doctor(loadEnvironment(options.state), options));
  const settings = program.command('config').description('check or list the settings');
  settings
    .command('reference')
    .description('print every setting with its default and its meaning, as an environment file')
    .action(() => void process.stdout.write(settingsReference()));
  settings
    .command('check')
    .description('check the settings without any connection; exits with 1 if something is wrong')
    .addOption(roleOption(['api', 'pipeline', 'admin']))
    .option('--json', 'print a JSON object')
    .addOption(stateOption())
    .action((options: DoctorOptions & { state?: string }) =>
      checkSettings(options.state === undefined ? process.env : loadEnvironment(options.state), options),
    );

  program
    .command('replay')
    .description(
      'publish messages again; counts and device sets do not change. Says first what it will do, and asks',
    )
    .argument('[topic]', `all messages of a topic: ${topicNames}`, topicArgument)
    .option('--job <number>', 'the messages of a job, on every topic', wholeNumber)
    .option('--dead-letters', 'put back dead letters that can be decoded now')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print a JSON object; needs --yes or --dry-run')
    .addOption(stateOption())
    .action(async (topic: TopicKey | undefined, options: ReplayCommand, command: Command) => {
      const { job, deadLetters, json, yes, dryRun } = options;
      if ([topic, job, deadLetters].filter((one) => one !== undefined).length !== 1)
        command.error('error: expected one of <topic>, --job and --dead-letters');
      if (json && !yes && !dryRun) command.error('error: --json needs --yes or --dry-run');
      const config = configOf(options);
      const plan = await (topic
        ? planTopic(config, topic)
        : job
          ? planJob(config, job)
          : planDeadLetters(config));
      await replay(config, plan, options);
    });
}
