import { age, exactTime } from '../format.ts';
import { useNow } from '../hooks.ts';

/** `3 minutes ago`, with the exact time on hover. */
export function Age({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={time} title={exactTime(time)}>
      {age(time, now)}
    </time>
  );
}
