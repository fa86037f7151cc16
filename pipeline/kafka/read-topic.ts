/**
 * Reads topics without a consumer group, so no committed offsets move. Messages of several topics and partitions are merged by timestamp.
 * A partition is fetched again only when its buffered messages are consumed, so memory stays bounded.
 */
import type { OperatorConfig } from '../../schemas/config.ts';
import type { TopicKey } from '../../schemas/topics.ts';
import type { Logger } from '../runtime/log.ts';
import { asking, type Cluster, findTopics, withCluster } from './cluster.ts';
import { type Cursor, endAt, fetchNext, isBehind, isEmpty, isOpen } from './cursor.ts';
import { earlier, later, type Offsets, offsetsAt, type Place } from './offsets.ts';
import { topicName } from './topics.ts';

export interface ReadMessage {
  topic: TopicKey;
  partition: number;
  offset: string;
  timestamp: Date;
  key: Buffer | null;
  value: Buffer | null;
}

export interface ReadOptions {
  /** Start. Default: the beginning. */
  from?: Place;
  /** End, exclusive. Default: the current end. */
  until?: Place;
  /** Continue with new messages. */
  follow?: boolean;
  signal?: AbortSignal;
}

const LONG_POLL_MS = 500;

export function readTopics(
  config: OperatorConfig,
  log: Logger,
  topics: readonly TopicKey[],
  visit: (message: ReadMessage) => Promise<void> | void,
  options: ReadOptions = {},
): Promise<void> {
  return withCluster(config, log, async (cluster) => {
    const names = topics.map((topic) => topicName(config, topic));
    await findTopics(cluster, names);
    const cursors = await openCursors(cluster, config, topics, options);
    for await (const message of merge(cluster, cursors, options)) await visit(message);
  });
}

export const readTopic = (
  config: OperatorConfig,
  log: Logger,
  topic: TopicKey,
  visit: (message: ReadMessage) => Promise<void> | void,
  options?: ReadOptions,
): Promise<void> => readTopics(config, log, [topic], visit, options);

const isLater = (place: Place): place is { time: number } =>
  typeof place === 'object' && 'time' in place && place.time > Date.now();

async function openCursors(
  cluster: Cluster,
  config: OperatorConfig,
  topics: readonly TopicKey[],
  { from = 'beginning', until = 'end', follow = false }: ReadOptions,
): Promise<Cursor[]> {
  const names = topics.map((topic) => topicName(config, topic));
  const places = [from, until, 'beginning', 'end'] as const;
  const [first, last, lows, highs] = await asking(cluster, () =>
    Promise.all(places.map((place) => offsetsAt(cluster, names, place))),
  );
  const goesOn = follow && (until === 'end' || isLater(until));
  return topics.flatMap((topic) => {
    const name = topicName(config, topic);
    return [...highs!.get(name)!].map(([partition, high]) => {
      const of = (offsets: Offsets | undefined) => offsets!.get(name)!.get(partition)!;
      const end = follow ? of(last) : earlier(of(last), high);
      const position = earlier(later(of(first), of(lows)), high);
      return { topic, name, partition, position, end: goesOn ? undefined : end, high, waiting: [] };
    });
  });
}

async function* merge(
  cluster: Cluster,
  cursors: Cursor[],
  { until, follow, signal }: ReadOptions,
): AsyncGenerator<ReadMessage> {
  let toEnd = follow && until !== undefined && isLater(until) ? until : undefined;
  while (!signal?.aborted) {
    if (toEnd && toEnd.time <= Date.now()) {
      await endAll(cluster, cursors, toEnd);
      toEnd = undefined;
    }
    const open = cursors.filter(isOpen);
    if (open.length === 0) return;
    const empty = open.filter(isEmpty);
    // A partition that has more may have older messages than those buffered. A partition that is read to its end delays nothing.
    const hasMore = empty.some(isBehind);
    if (hasMore || empty.length === open.length) await fetchNext(cluster, empty, hasMore ? 0 : LONG_POLL_MS);
    if (empty.some(isBehind)) continue;
    const next = oldest(open);
    if (next) yield takeFrom(next);
  }
}

async function endAll(cluster: Cluster, cursors: Cursor[], place: Place): Promise<void> {
  const names = [...new Set(cursors.map(({ name }) => name))];
  const ends = await asking(cluster, () => offsetsAt(cluster, names, place));
  for (const cursor of cursors) endAt(cursor, ends.get(cursor.name)!.get(cursor.partition)!);
}

function oldest(cursors: Cursor[]): Cursor | undefined {
  let found: Cursor | undefined;
  let time = Number.POSITIVE_INFINITY;
  for (const cursor of cursors) {
    const next = cursor.waiting.at(-1);
    if (next === undefined || Number(next.timestamp) >= time) continue;
    found = cursor;
    time = Number(next.timestamp);
  }
  return found;
}

function takeFrom({ topic, partition, waiting }: Cursor): ReadMessage {
  const { offset, timestamp, key, value } = waiting.pop()!;
  return { topic, partition, offset, timestamp: new Date(Number(timestamp)), key, value };
}
