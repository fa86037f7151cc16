/** Parses option values. Commander prints the option's name in front of these messages. */
import { InvalidArgumentError } from 'commander';
import type { Status } from '../../api/client/types.ts';
import { millisecondsIn, timeIn } from '../../pipeline/runtime/duration.ts';

/** In milliseconds. Without a unit, the text is in seconds. */
export function duration(text: string): number {
  const ms = millisecondsIn(/\d$/.test(text) ? `${text}s` : text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('expected a duration such as 90s, 5m or 2h');
  return ms;
}

/** Validates but keeps the text, which the audit log shows. `0s` is allowed. */
export function durationText(text: string): string {
  if (Number.isNaN(millisecondsIn(text)))
    throw new InvalidArgumentError('expected a duration such as 30m, 24h or 90d');
  return text;
}

export function lifetime(text: string): string {
  if (millisecondsIn(durationText(text)) === 0) throw new InvalidArgumentError('expected more than 0');
  return text;
}

/** `7d` (ago), or a time. */
export function pastTime(text: string): Date {
  const ms = millisecondsIn(text);
  if (!Number.isNaN(ms)) return new Date(Date.now() - ms);
  const time = timeIn(text);
  if (Number.isNaN(time))
    throw new InvalidArgumentError('expected a duration such as 7d, or a time such as 2026-11-16T08:00:00Z');
  return new Date(time);
}

export function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('must not be empty');
  return text;
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('expected a whole number, 1 or more');
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
