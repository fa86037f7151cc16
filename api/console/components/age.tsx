import { age, exactTime } from '../../client/format.ts';
import { useNow } from '../hooks.ts';

/** `3 minutes ago`, with the exact time on hover. */
export function Age({ time }: { time: string }) {
  const isFresh = Date.now() - Date.parse(time) < 60_000;
  const now = useNow(isFresh ? 1_000 : 15_000);
  return (
    <time dateTime={time} title={exactTime(time)}>
      {age(time, now)}
    </time>
  );
}
