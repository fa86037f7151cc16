/** The suppression list and the operator's privacy requests, for a DROP session. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PrivacyRequest } from '../../pipeline/accept/new-job.ts';
import { canonicalForms } from '../../pipeline/formats/identifier.ts';
import { CommandFailed } from '../../pipeline/runtime/errors.ts';
import { spaces } from '../../schemas/documents.ts';
import { EVERYONE, JobStatus } from '../../schemas/job-documents.ts';
import type { AcceptQueue } from '../jobs/accept-queue.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import type { Erasure } from './dependencies.ts';

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

export function createErasure(deps: Dependencies): Erasure {
  const { sets, counters, jobs, identifierLists, lateMatches, drop, queue, secret } = deps;
  const nextEdit = () => counters.take('digest edits');
  return {
    requireReady: deps.requireReady,

    async suppress(digests, batch) {
      await sets.listDigests(digests, { number: await nextEdit(), key: batch });
    },

    async settle() {
      // Decided loads may have read the list before it changed.
      const slots = await counters.slotCount();
      for (const space of new Set((await jobs.decidedLoads()).map(spaces.of)))
        for (let slot = 0; slot < slots; slot++) await sets.fence({ space, slot });
    },

    async restore(digests) {
      const requests = new Set(await drop.requests());
      await sets.unlistDigests(digests, { number: await nextEdit(), requests });
    },

    async remove(devices, batch) {
      const request: PrivacyRequest = {
        ...{ kind: 'privacy', privacy: 'delete', partner: EVERYONE, filePath: '', compressed: 'auto' },
        source: SOURCE,
        reason: reasonOf(batch),
        identifiers: await identifierLists.store(canonicalForms(devices), secret),
      };
      const { job } = await queue.accept(request);
      return job._id;
    },

    async requestsOf(batch) {
      const found = await jobs.requestsFor({ source: SOURCE, reason: reasonOf(batch) });
      return found.map(({ _id: id, phase, status }) => ({
        id,
        hasFailed: phase === 'ended' && status === JobStatus.error,
      }));
    },

    async waitFor(requests) {
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

    lateMatches: lateMatches.some,
    forgetLateMatches: lateMatches.forget,
  };
}
