/** Wrong API keys and user tokens are limited by the network that they come from. */
import type { Config } from '../../schemas/config.ts';
import { createTokenBuckets, secondsUntil } from '../http/limit-rate.ts';
import { Problem } from '../http/problem.ts';

export type GuessLimit = ReturnType<typeof createGuessLimit>;

export function createGuessLimit({ wrongKeysPerMinute }: Pick<Config, 'wrongKeysPerMinute'>) {
  const perSecond = wrongKeysPerMinute / 60;
  const buckets = createTokenBuckets(perSecond, wrongKeysPerMinute);

  function refuseBelowZero(left: number): void {
    if (left >= 0) return;
    const detail =
      'Too many requests with an invalid API key or user token from your address. Check the key, and retry later.';
    throw new Problem('too_many_wrong_keys', detail, {
      headers: { 'Retry-After': secondsUntil(left, perSecond) },
    });
  }

  return {
    /** Takes a guess, or refuses the request if the network has none left. */
    take: (network: string) => refuseBelowZero(buckets.take(network)),
    /** Refuses the request if the network has no guess left. */
    look: (network: string) => refuseBelowZero(buckets.look(network)),
    giveBack: buckets.giveBack,
    /** Counts a wrong guess that was not taken in advance. */
    count(network: string): void {
      buckets.take(network);
    },
  };
}
