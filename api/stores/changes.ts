/**
 * Change stream of jobs and audiences: majority-committed, in write order. A position is the cluster time of a change as 16 hex
 * digits: positions sort by time, and mean the same in every process.
 */
import { type ClientSession, type Db, MongoServerError, Timestamp } from 'mongodb';
import { collections } from '../../schemas/documents.ts';

export type ChangeStore = ReturnType<typeof createChangeStore>;
export type Position = string;

export interface Change {
  of: 'jobs' | 'audiences';
  id: number;
  at: Position;
}

export interface Changes {
  /** Ends when closed, or when MongoDB fails. */
  each: AsyncIterable<Change>;
  /** No further change is earlier than this; undefined before MongoDB has answered. */
  position(): Position | undefined;
  close(): Promise<void>;
}

interface ChangeEvent {
  _id: unknown;
  ns: { coll: Change['of'] };
  documentKey: { _id: number };
  clusterTime: Timestamp;
}

const positionOf = (time: Timestamp): Position => time.toString(16).padStart(16, '0');
const timeOf = (position: Position) =>
  new Timestamp({
    t: Number.parseInt(position.slice(0, 8), 16),
    i: Number.parseInt(position.slice(8), 16),
  });

export const isPosition = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);
export const secondsBefore = (position: Position, seconds: number): Position => {
  const { t } = timeOf(position);
  return positionOf(new Timestamp({ t: Math.max(1, t - seconds), i: 0 }));
};

/** Resume tokens begin with the cluster time. If one does not, the position advances with changes only. */
const tokenTime = /^82([0-9a-f]{16})/i;

/** ChangeStreamHistoryLost: the start of the stream has dropped out of the oplog. */
const HISTORY_LOST = 286;
export const isHistoryLost = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === HISTORY_LOST;

const watched: Change['of'][] = [collections.jobs, collections.audiences];

export function createChangeStore(db: Db) {
  return {
    /** Earlier changes are readable; later changes have a later position. */
    async now(): Promise<Position> {
      const answer = await db.command({
        find: collections.counters,
        limit: 1,
        singleBatch: true,
        projection: { _id: 1 },
        readConcern: { level: 'majority' },
      });
      return positionOf(answer.operationTime);
    },

    /** From this position, inclusive. */
    watch(from: Position): Changes {
      const stream = db.watch<Record<string, unknown>, ChangeEvent & Record<string, unknown>>(
        [
          {
            $match: { 'ns.coll': { $in: watched }, operationType: { $in: ['insert', 'update', 'replace'] } },
          },
          { $project: { ns: 1, documentKey: 1, clusterTime: 1 } },
        ],
        { startAtOperationTime: timeOf(from) },
      );
      async function* each(): AsyncGenerator<Change> {
        for await (const { ns, documentKey, clusterTime } of stream)
          yield { of: ns.coll, id: documentKey._id, at: positionOf(clusterTime) };
      }
      return {
        each: each(),
        position() {
          const token = (stream.resumeToken as { _data?: string } | null)?._data;
          return tokenTime.exec(token ?? '')?.[1]?.toLowerCase();
        },
        close: () => stream.close(),
      };
    },

    /** Causally consistent read at or after the position, even from a new primary. */
    readAfter: <T>(position: Position, read: (session: ClientSession) => Promise<T>): Promise<T> =>
      db.client.withSession({ causalConsistency: true }, (session) => {
        session.advanceOperationTime(timeOf(position));
        return read(session);
      }),
  };
}
