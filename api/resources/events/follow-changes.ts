/** Follows the change stream and resumes it after errors, until it is stopped. */
import { createRetry } from '../../../pipeline/engine/retry.ts';
import type { Logger } from '../../../pipeline/runtime/log.ts';
import {
  type Change,
  type ChangeStore,
  type Changes,
  isHistoryLost,
  type Position,
} from '../../stores/changes.ts';

interface Listener {
  onChange(change: Change): void;
  /** Changes before this position are lost. */
  onLost(at: Position): void;
}

export interface Following {
  /** No further change is earlier than this. */
  position(): Position;
  stop(): void;
}

/** Begins at `start.from`, or at `start.otherwise` if the oplog does not reach that far back. */
export function followChanges(
  { changes, log }: { changes: ChangeStore; log: Logger },
  start: { from: Position; otherwise: Position },
  { onChange, onLost }: Listener,
): Following {
  const stopping = new AbortController();
  const retry = createRetry(log, { when: () => true, firstMs: 100, maxMs: 2_000, ref: false });
  let { from } = start;
  let otherwise: Position | undefined = start.otherwise;
  let open: Changes | undefined;

  function position(): Position {
    const reached = open?.position();
    return reached !== undefined && reached > from ? reached : from;
  }

  async function follow(): Promise<void> {
    try {
      open = changes.watch(from);
      for await (const change of open.each) {
        if (stopping.signal.aborted) return;
        from = change.at;
        otherwise = undefined;
        onChange(change);
      }
      if (!stopping.signal.aborted) throw new Error('the change stream has ended');
    } catch (error) {
      if (stopping.signal.aborted) return;
      from = position();
      if (isHistoryLost(error)) await goOnAfter(error);
      throw error;
    } finally {
      await open?.close().catch(() => {});
      open = undefined;
    }
  }

  async function goOnAfter(error: unknown): Promise<void> {
    log.warn({ err: error }, 'the change stream cannot resume: clients get a resync');
    from = otherwise ?? (await changes.now());
    otherwise = undefined;
    if (!stopping.signal.aborted) onLost(from);
  }

  retry('follow the changes of jobs and audiences', follow, stopping.signal).catch(() => {});
  return {
    position,
    stop() {
      stopping.abort();
      open?.close().catch(() => {});
    },
  };
}
