/** Times as an operator writes them. Options keep the text, which the audit log shows. Commander names the option in front of messages. */
import { InvalidArgumentError } from 'commander';

const millisecondsOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** NaN if it is no duration. */
export function millisecondsIn(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return Number(amount) * (millisecondsOf[unit as keyof typeof millisecondsOf] ?? Number.NaN);
}

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
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError('expected a duration such as 7d, or a time such as 2026-11-16T08:00:00Z');
  return new Date(time);
}
