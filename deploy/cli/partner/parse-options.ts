/** Values of options. Commander names the option in front of these messages. */
import { InvalidArgumentError } from 'commander';
import type { Status } from '../../../api/client/types.ts';
import { millisecondsIn } from '../../../pipeline/runtime/duration.ts';

/** In milliseconds; seconds if there is no unit. */
export function duration(text: string): number {
  const ms = millisecondsIn(/\d$/.test(text) ? `${text}s` : text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('expected a duration such as 90s, 5m or 2h');
  return ms;
}

export function identifier(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a number');
  return Number(text);
}

export const between = (min: number, max: number) => (text: string) => {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new InvalidArgumentError(`expected a number from ${min} to ${max}`);
};

export const statusNames = ['pending', 'running', 'done', 'failed'] as const;

export function status(text: string): Status {
  const index = (statusNames as readonly string[]).indexOf(text);
  if (index < 0) throw new InvalidArgumentError(`expected ${statusNames.join(', ')}`);
  return index as Status;
}
