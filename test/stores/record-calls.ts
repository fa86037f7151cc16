/** Calls to the stores of privacy requests, dry runs, webhooks, and outbox records. */
import { Binary, ObjectId } from 'mongodb';
import type { DryRunDocument } from '../../schemas/dry-run-documents.ts';
import { JobStatus } from '../../schemas/job-documents.ts';

import type { StoreCalls, Subject } from './all-stores.ts';

const { signal } = new AbortController();

export function recordCalls({ partner, job, loading }: Subject) {
  const dryRun: DryRunDocument = {
    _id: 1,
    partner,
    customer: null,
    job,
    status: JobStatus.pending,
    tries: 0,
    fileCount: 0,
    bytes: 0,
    prefixMatches: [],
    files: [],
    errors: null,
    createdAt: new Date(),
    updatedAt: new Date(),
  };
  const secret = new Uint8Array(32);
  const dropPart = { batch: 1, file: 0, number: 0 };
  const webhook = {
    _id: 1,
    partner,
    url: 'https://a.example/',
    description: null,
    isActive: true,
    since: 1,
    secrets: [],
    createdAt: new Date(),
    updatedAt: new Date(),
  };
  return {
    audit: {
      begin: [[{ actor: 'a', action: 'b', partner, details: {} }]],
      complete: [[new ObjectId(), { outcome: 'done' }]],
      list: [
        [{ limit: 10 }],
        [{ limit: 10, since: new Date() }],
        [{ limit: 10, partner, since: new Date(0) }],
      ],
    },
    deliveries: {
      // Reads the server's time only.
      now: [],
      insert: [[[{ _id: -1, webhook: 1, job: 1, type: 'import.ended', body: '' }]]],
      find: [[1, 1]],
      list: [
        [1, { limit: 10 }],
        [1, { limit: 10, before: 5 }],
        [1, { limit: 10, status: 'failed' }],
        [1, { limit: 10, status: 'failed', before: 5 }],
      ],
      pendingWebhooks: [[]],
      take: [[2, { sender: 'me', at: new Date(), leaseMs: 1_000, limit: 8 }]],
      finish: [
        [{ _id: 1, sender: 'me' } as never, { isDelivered: false, retryMs: 1, code: 500, error: '$', ms: 1 }],
      ],
      release: [[{ _id: 1, sender: 'me' } as never]],
      sendAgain: [[1, 1, 'request']],
      giveUp: [[]],
      oldestPendingSeconds: [[]],
      removeOf: [[1]],
    },
    dryRuns: {
      erase: [
        [() => true, partner],
        [() => true, undefined],
      ],
      insert: [[dryRun, { perPartner: 10, perCustomer: 5 }]],
      find: [
        [partner, null, 1],
        [partner, 'c', 1],
      ],
      waiting: [[['p-busy']]],
      take: [[partner, 'runner', 1_000]],
      keep: [
        [
          { ...dryRun, runner: 'runner' },
          { fileCount: 0, bytes: 0, prefixMatches: [], files: [], errors: null },
        ],
      ],
      end: [[{ ...dryRun, runner: 'runner' }, 2]],
    },
    identifierLists: {
      store: [[['8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11'], Buffer.alloc(32)]],
      size: [['list']],
      reseal: [[[Buffer.alloc(32)]]],
      read: [['list', [Buffer.alloc(32)]]],
      remove: [['list']],
    },
    receipts: {
      find: [[1]],
      store: [[{ _id: 1, partner, jws: '', createdAt: new Date(), expiresAt: new Date() }]],
    },
    signingKeys: {
      current: [[[secret]]],
      publicKeys: [[]],
      rotate: [[secret]],
      reseal: [[[secret]]],
    },
    requestResults: {
      find: [[1, 0]],
      store: [[{ job: 1, slot: 0, found: 0, spaces: [] }]],
      storePart: [[{ job: 1, slot: 0, token: 't', part: 0, sealed: new Binary(Buffer.alloc(1)) }]],
      hasAnswer: [[1]],
      answers: [[1, [Buffer.alloc(32)]]],
      reseal: [[[Buffer.alloc(32)]]],
      forget: [[[1]]],
    },
    drop: {
      open: [[]],
      find: [[1]],
      newest: [[]],
      lastComplete: [[]],
      list: [[10]],
      begin: [[new Date()]],
      update: [[1, { matched: 1 }]],
      requests: [[]],
      addRequest: [[1, 1]],
      putArchive: [[1, 0, new Uint8Array(1)]],
      archive: [[1, 1]],
      putEntries: [[{ part: dropPart, ids: Buffer.alloc(12), digests: Buffer.alloc(32) }]],
      entries: [[1, 0]],
      allEntries: [[]],
      statuses: [[dropPart]],
      putStatuses: [[dropPart, Buffer.alloc(1)]],
      removeArchive: [[1]],
      removeEntries: [[1, 0]],
      pendingAmendment: [[]],
      nextAmendment: [[]],
      // Fails after its first query, because the amendment already exists.
      addAmendment: [],
      setAmendment: [[1, { state: 'complete' }]],
      summary: [[]],
    },
    rejects: {
      erase: [
        [[1], () => true, partner],
        [[1], () => true, undefined],
      ],
      keep: [[{ job: loading._id, file: 0, batch: 0, rows: [] }, 10]],
      ofJob: [[loading._id]],
      removeOf: [[[loading._id], signal]],
    },
    webhooks: {
      // Reads nothing itself.
      inSession: [],
      insert: [[webhook, 10]],
      find: [[partner, 1]],
      read: [[1]],
      list: [[], [partner]],
      active: [[]],
      change: [[partner, 1, { description: 'x', isActive: true }]],
      disableGone: [[{ ...webhook, place: 0 }]],
      rotate: [[webhook, { id: 'id', sealed: new Binary(), createdAt: new Date() }, 1_000]],
      remove: [[partner, 1]],
      reseal: [[[secret]]],
    },
  } satisfies Partial<StoreCalls>;
}
