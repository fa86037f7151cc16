/** The suppression list and the operator's privacy requests, for a DROP session. Every method is idempotent. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PrivacyRequest } from '../../pipeline/accept/new-job.ts';
import { canonicalForms } from '../../pipeline/formats/identifier.ts';
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import { spaces } from '../../schemas/documents.ts';
import { EVERYONE, JobStatus } from '../../schemas/job-documents.ts';
import type { AcceptQueue } from '../jobs/accept-queue.ts';
import type { ApiStores } from '../stores/api-stores.ts';

interface Dependencies
  extends Pick<ApiStores, 'sets' | 'counters' | 'jobs' | 'identifierLists' | 'lateMatches' | 'drop'> {
  /** Connected when this resolves. */
  requireReady(): Promise<void>;
  queue: Pick<AcceptQueue, 'accept'>;
  secret: Uint8Array;
}

const POLL_MS = 500;
const SOURCE = 'drop';
const reasonOf = (batch: number) => `DROP batch ${batch}`;
const shown = { phase: 1, status: 1, errors: 1 } as const;

export type Erasure = ReturnType<typeof createErasure>;

export function createErasure(deps: Dependencies) {
  const { sets, counters, jobs, identifierLists, lateMatches, drop, queue, secret } = deps;
  const nextEdit = () => counters.take('digest edits');
  return {
    /** Fails unless deletions can be accepted: otherwise the batch must not be opened. */
    requireReady: deps.requireReady,

    /** Adds the digests of a batch to the list. */
    async suppress(digests: Uint8Array, batch: number): Promise<void> {
      await sets.listDigests(digests, { number: await nextEdit(), key: batch });
    },

    /** Resolves when every load in flight respects the list: decided ones may have read it before it changed. */
    async settle(): Promise<void> {
      const slots = await counters.slotCount();
      for (const space of new Set((await jobs.decidedLoads()).map(spaces.of)))
        for (let slot = 0; slot < slots; slot++) await sets.fence({ space, slot });
    },

    /** Removes digests from the list, if DROP sessions added them. */
    async restore(digests: Uint8Array): Promise<void> {
      const requests = new Set(await drop.requests());
      await sets.unlistDigests(digests, { number: await nextEdit(), requests });
    },

    /** Queues the deletion of up to MAX_DEVICES devices as a job, and returns its request id. */
    async remove(devices: Uint8Array, batch: number): Promise<number> {
      const request: PrivacyRequest = {
        ...{ kind: 'privacy', privacy: 'delete', partner: EVERYONE, filePath: '', compressed: 'auto' },
        source: SOURCE,
        reason: reasonOf(batch),
        identifiers: await identifierLists.store(canonicalForms(devices), secret),
      };
      const { job } = await queue.accept(request);
      return job._id;
    },

    /** All requests of the batch, including those queued by a session that then crashed. */
    async requestsOf(batch: number): Promise<{ id: number; hasFailed: boolean }[]> {
      const found = await jobs.requestsFor({ source: SOURCE, reason: reasonOf(batch) });
      return found.map(({ _id: id, phase, status }) => ({
        id,
        hasFailed: phase === 'ended' && status === JobStatus.error,
      }));
    },

    /** Resolves when all of them have deleted their devices. */
    async waitFor(requests: readonly number[]): Promise<void> {
      for (const id of requests)
        for (;;) {
          const request = await jobs.findRequest(undefined, id, shown);
          if (request?.phase === 'ended' && request.status === JobStatus.done) break;
          if (!request || request.phase === 'ended')
            throw new CommandFailed(
              'drop_delete_failed',
              `privacy request ${id} ${request ? 'has failed' : 'does not exist'}: see headrace admin privacy show ${id}, then run this again`,
            );
          await sleep(POLL_MS);
        }
    },

    /** Listed devices that came with later loads: the first 16 bytes of each digest. */
    lateMatches: lateMatches.some,
    forgetLateMatches: lateMatches.forget,
  };
}
