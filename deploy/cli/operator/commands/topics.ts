/** `headrace topics`: the purpose, size and consumer lag of each topic. */

import type { Command } from 'commander';
import { bytes, duration, plural } from '../../../../api/client/format.ts';
import { describeTopics, type TopicState } from '../../../../pipeline/kafka/describe-topics.ts';
import { type Paint, paint, printJson, printLines } from '../../../../pipeline/runtime/terminal.ts';
import type { OperatorConfig } from '../../../../schemas/config.ts';
import { type MessageName, topics, versionsOf } from '../../../../schemas/topics.ts';
import type { Environments } from '../../commands.ts';
import { type Columns, listLines, none } from '../../show.ts';
import { configOf, type StateOption, stateOption } from '../options.ts';
import { quietLogger } from '../read-messages.ts';

const schemasOf = ({ topic }: TopicState) =>
  (topics[topic].holds as readonly MessageName[]).map((type) => ({
    type,
    version: versionsOf(type).length,
    id: versionsOf(type).at(-1)!.id,
  }));

const record = (state: TopicState) => ({
  topic: state.name,
  purpose: topics[state.topic].purpose,
  key: topics[state.topic].key,
  schemas: schemasOf(state),
  partitions: state.partitions,
  cleanup: state.cleanup,
  retention_ms: state.retentionMs,
  messages: state.messages,
  bytes: state.bytes,
  lag: state.lag && { ...state.lag, seconds: Number(state.lag.seconds.toFixed(1)) },
});

const keptFor = (ms: number) => (ms < 0 ? 'forever' : duration(ms / 1_000));

function lagLine({ lag }: TopicState, { green, yellow, dim }: Paint): string {
  if (lag === null) return dim(none);
  if (lag.messages === 0) return green(`${lag.stage}: none`);
  return yellow(`${lag.stage}: ${plural(lag.messages, 'message')}, ${duration(lag.seconds)}`);
}

const columns = (colours: Paint): Columns<TopicState> => ({
  TOPIC: ({ name }) => colours.bold(name),
  PARTITIONS: ({ partitions }) => partitions,
  MESSAGES: ({ messages }) => messages,
  SIZE: (state) => bytes(state.bytes),
  KEPT: ({ retentionMs }) => keptFor(retentionMs),
  LAG: (state) => lagLine(state, colours),
  KEY: ({ topic }) => topics[topic].key,
  'SCHEMA (VERSION)': (state) =>
    schemasOf(state)
      .map(({ type, version }) => `${type} (${version})`)
      .join(', '),
  FOR: ({ topic }) => topics[topic].purpose,
});

async function listTopics(config: OperatorConfig, { json }: { json?: boolean }): Promise<void> {
  const states = await describeTopics(config, quietLogger('topics'));
  if (json) await printJson(process.stdout, states.map(record));
  else await printLines(process.stdout, listLines(states, columns(paint(process.stdout))));
}

export function register(program: Command, environments: Environments): void {
  program
    .command('topics')
    .description('list the topics with their purpose, size and consumer lag')
    .option('--json', 'print a JSON array')
    .addOption(stateOption())
    .action((options: { json?: boolean } & StateOption) =>
      listTopics(configOf(environments, options), options),
    );
}
