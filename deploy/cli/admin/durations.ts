/** Times as an operator writes them. Options keep the text, which the audit log shows. Commander names the option in front of messages. */
import { InvalidArgumentError } from 'commander';
import { millisecondsIn, timeIn } from '../../../pipeline/runtime/duration.ts';

/** `0s` to say that there is none. */
export function duration(text: string): string {
  if (Number.isNaN(millisecondsIn(text)))
    throw new InvalidArgumentError('expected a duration such as 30m, 24h or 90d');
  return text;
}

export function lifetime(text: string): string {
  if (millisecondsIn(duration(text)) === 0) throw new InvalidArgumentError('expected more than nothing');
  return text;
}

/** A moment that has passed: `7d` ago, or a time. */
export function moment(text: string): Date {
  const ms = millisecondsIn(text);
  if (!Number.isNaN(ms)) return new Date(Date.now() - ms);
  const time = timeIn(text);
  if (Number.isNaN(time))
    throw new InvalidArgumentError('expected a duration such as 7d, or a time such as 2026-11-16T08:00:00Z');
  return new Date(time);
}
