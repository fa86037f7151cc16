/** Timestamp of the newest message, by topic; empty topics are absent. */
import type { TopicKey } from '../../schemas/topics.ts';
import { asking, type Cluster, findTopics } from './cluster.ts';
import { type Cursor, fetchNext } from './cursor.ts';
import { offsetsAt } from './offsets.ts';

export async function newestMessages(cluster: Cluster, names: string[]): Promise<Map<string, number>> {
  await findTopics(cluster, names);
  const ends = await asking(cluster, () => offsetsAt(cluster, names, 'end'));
  const starts = await asking(cluster, () => offsetsAt(cluster, names, 'beginning'));
  const newest = new Map<string, number>();
  for (const name of names) {
    for (const [partition, end] of ends.get(name)!) {
      const position = end - 1n;
      if (position < starts.get(name)!.get(partition)!) continue;
      const cursor: Cursor = {
        topic: name as TopicKey,
        name,
        partition,
        position,
        end,
        high: end,
        waiting: [],
      };
      await fetchNext(cluster, [cursor], 0);
      for (const { timestamp } of cursor.waiting)
        newest.set(name, Math.max(newest.get(name) ?? 0, Number(timestamp)));
    }
  }
  return newest;
}
