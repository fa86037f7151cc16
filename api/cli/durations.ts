/** Times as an operator writes them. Commander names the option in front of these messages. */
import { InvalidArgumentError } from 'commander';

const millisecondsOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

function parse(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,6}) ?([smhdw])$/.exec(text) ?? [];
  return unit === undefined
    ? undefined
    : Number(amount) * millisecondsOf[unit as keyof typeof millisecondsOf];
}

/** `0s` to say that there is none. */
export function duration(text: string): number {
  const ms = parse(text);
  if (ms === undefined) throw new InvalidArgumentError('expected a duration such as 30m, 24h or 90d');
  return ms;
}

export function lifetime(text: string): number {
  const ms = duration(text);
  if (ms === 0) throw new InvalidArgumentError('expected more than nothing');
  return ms;
}

/** A moment that has passed: `7d` ago, or a time. */
export function moment(text: string): Date {
  const ms = parse(text);
  if (ms !== undefined) return new Date(Date.now() - ms);
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new InvalidArgumentError('expected a duration such as 7d, or a time such as 2026-11-16T08:00:00Z');
  return new Date(time);
}
