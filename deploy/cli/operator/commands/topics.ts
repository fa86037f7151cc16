/** `headrace topics`: what each topic is for, what it holds, and how far its stage is behind. */

import type { Command } from 'commander';
import { describeTopics, type TopicState } from '../../../../pipeline/kafka/describe-topics.ts';
import { type Paint, paint, printJson, printLines, table } from '../../../../pipeline/runtime/terminal.ts';
import type { OperatorConfig } from '../../../../schemas/config.ts';
import { type MessageName, topics, versionsOf } from '../../../../schemas/topics.ts';
import type { Environments } from '../../commands.ts';
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

const units = ['B', 'kB', 'MB', 'GB', 'TB'];
export function inBytes(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${(bytes / 1_000 ** unit).toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

function inTime(seconds: number): string {
  if (seconds < 0) return 'for ever';
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 200 * 3_600 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

function lagLine({ lag }: TopicState, { green, yellow, dim }: Paint): string {
  if (lag === null) return dim('-');
  if (lag.messages === 0) return green(`${lag.stage}: none`);
  return yellow(`${lag.stage}: ${lag.messages} messages, ${inTime(lag.seconds)}`);
}

function lines(states: TopicState[], colours: Paint): string[] {
  const header = ['TOPIC', 'PARTITIONS', 'MESSAGES', 'SIZE', 'KEPT', 'LAG', 'KEY', 'SCHEMA (VERSION)', 'FOR'];
  const rows = states.map((state) => [
    colours.bold(state.name),
    String(state.partitions),
    String(state.messages),
    inBytes(state.bytes),
    inTime(state.retentionMs / 1_000),
    lagLine(state, colours),
    topics[state.topic].key,
    schemasOf(state)
      .map(({ type, version }) => `${type} (${version})`)
      .join(', '),
    topics[state.topic].purpose,
  ]);
  return table([header, ...rows], [1, 2, 3, 4]);
}

async function listTopics(config: OperatorConfig, { json }: { json?: boolean }): Promise<void> {
  const states = await describeTopics(config, quietLogger('topics'));
  if (json) await printJson(process.stdout, states.map(record));
  else await printLines(process.stdout, lines(states, paint(process.stdout)));
}

export function register(program: Command, environments: Environments): void {
  program
    .command('topics')
    .description('list the topics: what each is for, what it holds, how far its stage is behind')
    .option('--json', 'print a JSON array')
    .addOption(stateOption())
    .action((options: { json?: boolean } & StateOption) =>
      listTopics(configOf(environments, options), options),
    );
}
