/** Options that commands of operators share. */

import { InvalidArgumentError, Option } from 'commander';
import type { Place } from '../../../pipeline/kafka/offsets.ts';
import { millisecondsIn, timeIn } from '../../../pipeline/runtime/duration.ts';
import { type ConfigOf, parseConfig, type Role } from '../../../schemas/config.ts';
import { type TopicKey, topics } from '../../../schemas/topics.ts';
import type { Environments } from '../commands.ts';

export interface StateOption {
  state?: string;
}

export const stateOption = () =>
  new Option('--state <dir>', 'use the local stack in this folder, not the servers in the environment');
export const roleOption = (roles: readonly Role[]) =>
  new Option('--role <role>', 'check only what this process uses (default: everything)').choices(roles);

export const configOf = ({ load }: Environments, { state }: StateOption): ConfigOf<'operator'> =>
  parseConfig(load(state), 'operator');

const topicKeys = Object.keys(topics) as TopicKey[];
export const topicNames = topicKeys.map((key) => topics[key].name).join(', ');

export function topicArgument(given: string): TopicKey {
  const found = topicKeys.find((key) =>
    [key, topics[key].name, `ingest.${topics[key].name}`].includes(given),
  );
  if (!found) throw new InvalidArgumentError(`expected one of ${topicNames}`);
  return found;
}

export function parsePlace(text: string): Place {
  if (text === 'beginning' || text === 'end') return text;
  if (/^\d{1,18}$/.test(text)) return { offset: BigInt(text) };
  const distance = /^[+-]/.test(text) ? millisecondsIn(text.slice(1)) : Number.NaN;
  if (!Number.isNaN(distance)) return { time: Date.now() + (text[0] === '-' ? -distance : distance) };
  const time = timeIn(text);
  if (!Number.isNaN(time)) return { time };
  throw new InvalidArgumentError(
    'expected beginning, end, -10m (10 minutes ago; s, m, h, d or w), a time such as 2026-11-16T08:00:00Z, or an offset',
  );
}
