/**
 * Tells the threads of this process which offsets its stages have handled, long before their offset commit. A hint only: other processes
 * send none.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { OperatorConfig } from '../../schemas/config.ts';
import type { StageName } from '../../schemas/stages.ts';
import { groupName } from './topics.ts';

export type OnHandled = (partition: number, next: bigint) => void;
export type HandledOffsets = ReturnType<typeof createHandledOffsets>;

export function createHandledOffsets(config: OperatorConfig) {
  const open = (stage: StageName) => {
    const channel = new BroadcastChannel(`headrace-handled-${groupName(config, stage)}`);
    channel.unref();
    return channel;
  };

  return {
    /** For the stage itself: call it with the first unhandled offset of a partition. */
    reporter(stage: StageName): OnHandled {
      const channel = open(stage);
      return (partition, next) => channel.postMessage({ partition, next });
    },
    subscribe(stage: StageName, onHandled: OnHandled): void {
      open(stage).onmessage = ({ data }: { data: { partition: number; next: bigint } }) =>
        onHandled(data.partition, data.next);
    },
  };
}
