/** Where `tap` begins and ends, as a person writes it. */
import { InvalidArgumentError } from 'commander';
import type { Place } from '../../../pipeline/kafka/offsets.ts';
import { millisecondsIn, timeIn } from '../../../pipeline/runtime/duration.ts';

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
