/** Where `tap` begins and ends, as a person writes it. */
import { InvalidArgumentError } from 'commander';
import type { Place } from '../kafka/offsets.ts';

const milliseconds = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function parsePlace(text: string): Place {
  if (text === 'beginning' || text === 'end') return text;
  if (/^\d{1,18}$/.test(text)) return { offset: BigInt(text) };
  const [, sign, count, unit] = /^([+-])(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (unit !== undefined) {
    const distance = Number(count) * milliseconds[unit as keyof typeof milliseconds];
    return { time: sign === '-' ? Date.now() - distance : Date.now() + distance };
  }
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return { time };
  throw new InvalidArgumentError(
    'expected beginning, end, -10m (10 minutes ago; s, m, h or d), a time such as 2026-11-16T08:00:00Z, or an offset',
  );
}
