/**
 * A call of every method of every store, and of the device sets, as the service makes it. The type demands them all: a query that is not here does not
 * compile. A method with several shapes of query has several calls.
 */
import { Binary, type Db, ObjectId } from 'mongodb';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { createDigestTable } from '../../pipeline/formats/digest-table.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createCrashStore } from '../../pipeline/stores/crashes.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import {
  type AudienceDocument,
  type FileDocument,
  type FileFailure,
  type IdempotencyDocument,
  type JobDocument,
  JobStatus,
  type PartnerDocument,
  spaces,
} from '../../schemas/documents.ts';
import type { DryRunDocument } from '../../schemas/dry-run-documents.ts';
import { keyed, numberedDevices, onePart, testPlacement } from '../sets/devices.ts';
import { slotTarget } from '../support/slot-target.ts';

export function createAllStores(db: Db) {
  // Changes follow the oplog, which has no index.
  const { changes: _, ...api } = createApiStores(db);
  return {
    ...api,
    ...createStores(db),
    crashes: createCrashStore(db),
    sets: createDeviceSets(db),
  };
}

type AllStores = ReturnType<typeof createAllStores>;
type Calls<Method> = Method extends (...args: infer Args) => unknown ? Args[] : never;
type StoreCalls = {
  [Store in keyof AllStores]: { [Method in keyof AllStores[Store]]: Calls<AllStores[Store][Method]> };
};

/** What the calls are about. */
export interface Subject {
  partner: string;
  /** The first load of an audience, ended; and a job of each other kind and phase. */
  job: JobDocument;
  accepted: JobDocument;
  loading: JobDocument;
  decidedJob: JobDocument;
  audience: AudienceDocument;
}

const { signal } = new AbortController();
const all = { status: 1 } as never;
const failure: FileFailure = { code: 'cancelled', message: 'cleared' };
const device = numberedDevices(0, 1);
const some = keyed({ devices: numberedDevices(0, 10), key: 2 });
const devices = { job: 1, file: 0, batch: 0, slot: 0, part: 0, groups: encodeGroups([]) };
const newPartner = { _id: 'p-new', name: 'new', prefix: 'p-new/' } as PartnerDocument;

export function callsFor({ partner, job, accepted, loading, decidedJob, audience }: Subject): StoreCalls {
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
  const { _id: id } = job;
  const listing = loading.listing!;
  const { generation } = audience;
  const scope = { partner, customer: null };
  const customer = { partner, customer: 'c' };
  const file = { job: loading._id, attempt: 0, file: 0 };
  const mark = { _id: `${partner}/key`, token: 'token' } as IdempotencyDocument;
  const secret = new Uint8Array(32);
  const page = { limit: 10, maxMs: 1_000 };
  const batch = { ...file, batch: 0, last: true } as never;
  const verdict = { passed: [], collapsed: [], attempt: 0, expected: new Binary() };
  const listed = {
    listing: `${accepted._id}-new`,
    after: 'a',
    found: 1,
    files: 1,
    bytes: 1,
    prefixMatches: [],
  };
  const stored = { passed: [], collapsed: [], verdict: `${id}-stored` };
  const outcome = { verdict, rows: 0, accepted: 0, rejected: {}, filesDone: 0, errors: null };
  const decided = { number: 0, failure: null, rows: 1, accepted: 1, pairsRead: 1, rejected: {} };
  const ended = { status: JobStatus.done, uniqueDevices: 1, rows: 1, errors: null };
  const loaded = {
    newDevices: 1,
    matchedDevices: 1,
    uploadedDevices: 1,
    failedFiles: 0,
    errors: null,
  };
  const slot = { space: spaces.audience(audience._id, generation), slot: 0, job: id };
  const dropPart = { batch: 1, file: 0, number: 0 };
  const report = { generation, ended: { marketplace: 0, loads: 0 } } as never;
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
    acks: {
      recordAndAdvance: [[[{ job: id, slot: 1, filePairs: [] } as never]]],
      countByJob: [[[id]]],
      ofJob: [[id]],
      slotsOf: [[[id]]],
      filePairs: [[[{ job: id, filePairs: [], pagedFiles: 20_000 } as never], 1]],
      committedJobs: [[[0, 1]]],
      forget: [[[id]]],
      forgetBefore: [[1]],
    },
    apiKeys: {
      find: [['aaaaaaaa']],
      isKey: [],
      countOthers: [[secret]],
      create: [[secret, partner]],
      rotate: [[secret, 'aaaaaaaa', new Date()]],
      revoke: [['aaaaaaaa']],
      list: [[], [partner]],
      removeAll: [['p-new']],
    },
    attributes: {
      create: [[{ partner, name: 'new', foreignKey: 'fk' }]],
      associate: [[1, 'fk-1']],
      createAll: [[partner, [{ name: 'one' }, { name: 'two', foreignKey: 'fk-two' }]]],
      withForeignKeys: [[partner, ['fk-1', 'fk-two']]],
      list: [[partner]],
      page: [
        [partner, {}],
        [partner, { before: 5, limit: 2 }],
      ],
      countFor: [[job, 10]],
      rename: [[{ id: 1, partner }, 'renamed']],
      hide: [[{ id: 1, partner }], [{ id: 2 }]],
      deletionQueued: [[1, 5]],
      describe: [[[1, 2]]],
      ownedAmong: [[partner, [1, 2]]],
      setVisibility: [
        [{ id: 1, partner }, 'private'],
        [{ id: 1 }, 'public'],
      ],
      madePrivateSince: [[new Date()]],
      keysOf: [[{ ...job, keyType: 0 }], [{ ...job, keyType: 1 }]],
      resolve: [
        [partner, 0, ['1']],
        [partner, 1, ['fk-1']],
      ],
    },
    attributeDevices: {
      record: [[[{ job: id, partner, added: new Map([[1, 1]]) }]]],
      of: [[[1, 2]]],
    },
    audit: {
      begin: [[{ actor: 'a', action: 'b', partner, details: {} }]],
      complete: [[new ObjectId(), { outcome: 'done' }]],
      list: [
        [{ limit: 10 }],
        [{ limit: 10, since: new Date() }],
        [{ limit: 10, partner, since: new Date(0) }],
      ],
    },
    audiences: {
      isDeleted: [[scope, audience._id]],
      rename: [[scope, audience._id, 'renamed']],
      delete: [[scope, audience._id + 1]],
      generationsOf: [[[audience._id]]],
      ensure: [[job]],
      find: [
        [scope, audience._id],
        [customer, audience._id],
      ],
      findAll: [[[audience._id]]],
      list: [
        [scope, { limit: 10 }],
        [customer, { limit: 10 }],
        [scope, { limit: 10, before: audience._id }],
        [scope, { segment: audience.segment }],
        [scope, { among: [audience._id] }],
        [scope, { limit: 10, outcome: JobStatus.error }],
        [scope, { limit: 10, search: 'a', maxMs: 1_000 }],
      ],
      largest: [
        [scope, 10],
        [customer, 10],
      ],
      namesOf: [[scope, [audience._id]]],
      recordMatched: [[audience, 1]],
      clear: [[scope, audience._id, generation]],
      clearedAmong: [[[job]]],
      toSweep: [[]],
      markSwept: [[audience, 900_000]],
      recordLoad: [[job, loaded]],
      recordErasure: [[job, [{ audience: audience._id, generation, devices: 1, matched: 1 }]]],
      spacesOf: [
        [partner, 10],
        [undefined, 10],
      ],
    },
    votes: {
      record: [[[{ job: id, attempt: 0, partition: 0, missing: [] }]]],
      votesOn: [[[id], [id + 1]]],
      ofAttempt: [[id, 0]],
      forget: [[[id]]],
      forgetBefore: [[1]],
    },
    compositions: {
      find: [[audience._id]],
      report: [[audience._id, 'token']],
      claim: [
        [
          { audience: audience._id, generation, token: 'token', partner, customer: 'c' },
          { perPartner: 2, perCustomer: 1 },
        ],
      ],
      beat: [[[{ audience: audience._id, token: 'token', progress: 0 }]]],
      finish: [[audience._id, 'token', report]],
      fail: [[audience._id, 'token']],
      release: [[audience._id, 'token']],
      forget: [[audience._id, 'token']],
      takeFailure: [[audience._id, new Date()]],
      forgetBelow: [[audience._id, 1]],
    },
    compositionRows: {
      add: [
        [
          { token: 'token', audience: audience._id, generation },
          0,
          { index: new Uint8Array(), json: new Uint8Array(), csv: new Uint8Array() },
        ],
      ],
      keep: [['token']],
      expire: [['token']],
      expireBelow: [[audience._id, generation]],
      read: [['token', 'json']],
    },
    contexts: {
      get: [[loading._id, 0]],
      keysOf: [[{ ...job, keyType: 0 }]],
    },
    counters: {
      attributeSequence: [[]],
      takeAttributeSequences: [],
      // Part of a transaction: jobs.end calls it.
      addEnds: [],
      countEnds: [[]],
      endsChanging: [[partner]],
      visibility: [[]],
      visibilityChanged: [[]],
      keepSlotCount: [[16]],
      slotCount: [[]],
      keepPartitionCount: [['devices', 4]],
      partitionCount: [[]],
      highest: [[['jobs', 'rejects']]],
      raise: [[new Map([['jobs', 1]])]],
      takeLease: [['lease', 'me', 1_000]],
      renewLease: [['lease', 'me', 1_000]],
      endLease: [['lease', 'me']],
      take: [['webhooks'], ['deliveries', 3]],
      recordedUpTo: [[]],
      moveRecorded: [[1, 1]],
      webhooksChanged: [[]],
    },
    crashes: {
      begin: [['sink', 0, '1', 'me']],
      succeed: [['sink', 0, 'me']],
      leave: [['sink', 0, 'me']],
      take: [['sink', 0, '1']],
      release: [['sink', 0]],
    },
    deliveries: {
      // Asks for the time.
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
      end: [
        [
          { ...dryRun, runner: 'runner' },
          { status: 2, fileCount: 0, bytes: 0, prefixMatches: [], files: [], errors: null },
        ],
      ],
    },
    endedSessions: {
      add: [['session', new Date(Date.now() + 60_000)]],
      has: [['session']],
    },
    eventValues: {
      assign: [[audience._id, generation, ['a', 'b']]],
      numbersOf: [[audience._id, generation, ['a', 'new']]],
      valuesOf: [[audience._id, generation]],
      removeBelow: [[audience._id, generation, signal]],
    },
    files: {
      // Part of a transaction: jobs.addPage calls it.
      insertPage: [],
      insertListing: [[[{ _id: 'new', job: loading._id } as FileDocument]]],
      undecided: [
        [listing, 0, 0, 10],
        [listing, 1, 0, 10],
      ],
      get: [[listing, 0]],
      markRunning: [[listing, 0, 1]],
      decide: [[[{ ...decided, listing, attempt: 0 }]], [[{ ...decided, listing, attempt: 1 }]]],
      decidedOf: [
        [listing, 0],
        [listing, 1],
      ],
      cancelUndecided: [[listing, failure]],
      failAll: [[listing, failure]],
      ofListing: [[listing]],
      decisionsOf: [[listing]],
      ofAudience: [[audience._id, generation]],
      eventsOf: [[listing]],
      rejectedIn: [[listing, [0]]],
      countByStatus: [[listing]],
      recordSuppressed: [[listing, new Map([[0, 1]])]],
      recordDistinctPairs: [[{ listing, pairs: new Map([[0, 1]]) }]],
      loadedAmong: [[audience._id, generation, ['a', 'b']]],
      changeBy: [[job]],
      rowsByEvent: [[audience._id, generation, id]],
      forgetOthers: [[loading._id, listing]],
      forgetListing: [[`${loading._id}-other`]],
      removeOf: [[[loading._id], signal]],
    },
    idempotency: {
      claim: [[scope, 'key', { requestHash: 'hash', token: 'token' }]],
      renewToken: [[mark]],
      storeAnswer: [[mark, new Binary()]],
      intentOf: [[mark]],
      fixIntent: [[mark, new Binary()]],
    },
    jobs: {
      unfinishedFrom: [
        [1, 10],
        [loading._id, 10],
      ],
      extent: [[]],
      freeze: [[accepted._id, { listing, listingAt: new Date(), fileCount: 1, bytes: 1 }]],
      hold: [[loading._id, true]],
      progress: [[loading._id, { filesDone: 0, rows: 0, bytesDone: 0 }]],
      decide: [[[{ id: loading._id, lane: partner, outcome }]]],
      nextAttempt: [[decidedJob]],
      drop: [[decidedJob, outcome]],
      stop: [[decidedJob, 'reason']],
      attempts: [[]],
      unfinishedUpTo: [[loading._id]],
      unfinishedAmong: [[[id, loading._id]]],
      recordReason: [[id, 'reason']],
      find: [[id]],
      findMany: [[[id, id + 1]]],
      endedBefore: [[1, { after: id - 10, before: id }, 10]],
      loadsBelow: [[audience._id, 2, id, 10]],
      remove: [[[1]]],
      cancelRequested: [[[id]]],
      endedAmong: [[[id]]],
      hasOpenBelow: [[audience._id, 2]],
      statusUnpublished: [[]],
      statusPublished: [[id]],
      end: [[[{ job: decidedJob, outcome: ended }]]],
      beingMerged: [[]],
      decidedLoads: [[]],
      findShown: [[id, all]],
      listImportLogs: [[partner, 10, {}]],
      searchImportLogs: [
        [partner, all, page],
        [partner, all, { ...page, before: id }],
        ...Object.values(JobStatus).map((status) => [partner, all, { ...page, status }] as never),
        [partner, all, { ...page, search: 'history' }],
      ],
      listRequests: [
        [partner, {} as never, { limit: 10 }],
        [undefined, {} as never, { limit: 10, before: 5 }],
      ],
      findRequest: [
        [partner, id, {} as never],
        [undefined, id, {} as never],
      ],
      findImportLog: [[partner, id, all]],
      endedBetween: [[{ after: job.endNumber! - 10, upTo: job.endNumber! }, [partner], all]],
      openLoads: [[partner], [partner, audience._id]],
      findAll: [[[id], all]],
      openLoadsOf: [[[audience._id]]],
      cancelledLoads: [[[{ ...audience, generation: 2 }], all, { limit: 10 }]],
      listedLoads: [[audience._id, generation]],
      listLoads: [
        [audience, all, { limit: 10 }],
        [audience, all, { limit: 10, before: id + 1 }],
      ],
      findLoad: [[audience, id, all]],
      findMaker: [[scope, audience._id]],
      list: [
        [{ all: false, limit: 10 }],
        [{ all: true, limit: 10 }],
        [{ all: false, limit: 10, partner }],
        [{ all: true, limit: 10, partner }],
      ],
      unfinishedByPhase: [[1_000]],
      countUnfinished: [[]],
      countStopped: [[1_000]],
      countAhead: [
        [[loading, accepted], 'partner'],
        [[loading, accepted], 'service'],
      ],
      earlierThan: [
        [job, 'partner'],
        [loading, 'partner'],
        [loading, 'service'],
      ],
      goOn: [
        [decidedJob._id, 'retry'],
        [decidedJob._id, 'drop'],
      ],
      requestCancel: [[accepted._id]],
      requestCancelAll: [[partner]],
      withCredentials: [[]],
      replaceCredentials: [[{ _id: id, partner, credentials: new Binary() }, new Binary()]],
      addPage: [
        [accepted._id, undefined, listed, []],
        [accepted._id, listed, { ...listed, after: 'b' }, []],
      ],
      highestNumber: [[]],
      insert: [],
      missing: [[id, id + 1]],
      insertNew: [],
      findByToken: [['history 1']],
      hasToken: [['history 1']],
      countPending: [[partner, 10_000]],
      promise: [[accepted], [job]],
      withdraw: [[[accepted]]],
    },
    ledger: {
      record: [[batch]],
      resumePoint: [[file]],
      batchesOf: [
        [
          [
            { job: id, attempt: 0, isWhole: true, files: [{ file: 0, from: 0 }] },
            {
              job: loading._id,
              attempt: 0,
              isWhole: false,
              files: [
                { file: 0, from: 0 },
                { file: 1, from: 1 },
              ],
            },
          ],
        ],
      ],
      slotTotals: [[{ job: loading._id, attempt: 0, isWanted: () => true }]],
      countByFile: [[loading._id, 0, [0, 1]]],
      countAll: [[loading._id, 0]],
      forget: [[[id]]],
      forgetBefore: [[1]],
    },
    partners: {
      insert: [[newPartner]],
      find: [[partner]],
      namesOf: [[[partner]]],
      lookUp: [[partner]],
      suspend: [[partner]],
      resume: [[partner]],
      setQuotas: [[partner, { pendingJobs: 1, rowsPerDay: null }]],
      planStorageUser: [[partner, 'next']],
      promoteStorageUser: [[newPartner, 'next']],
      forgetStorageUser: [[newPartner, 'old']],
      list: [[]],
      remove: [['p-new']],
    },
    identifierLists: {
      store: [[['8f9bb0d5-5b0c-4e2b-9c1d-2f6c1f0e7a11'], Buffer.alloc(32)]],
      size: [['list']],
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
      reseal: [[[secret]]],
    },
    requestResults: {
      find: [[1, 0]],
      store: [[{ job: 1, slot: 0, found: 0, spaces: [] }]],
      ofJob: [[1]],
      forget: [[[1]]],
    },
    arrivals: {
      record: [[[new Uint8Array(16)]]],
      some: [[10]],
      forget: [[[new Uint8Array(16)]]],
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
      // Fails after its first query, because it is there.
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
    sets: {
      placement: [[]],
      merge: [[slotTarget({ ...slot, matchIn: spaces.marketplace }), onePart(some)]],
      lookAhead: [[slot, some]],
      erase: [[slotTarget({ ...slot, job: slot.job + 2 }), some]],
      fence: [[slot]],
      look: [[slot, some]],
      suppressedIdentifiers: [[partner, ['8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11']]],
      suppressedAmong: [[partner, slot.slot, some]],
      removeKeys: [[slotTarget(slot), new Set([1])]],
      drop: [[slotTarget({ ...slot, job: slot.job + 1 })]],
      count: [[slot.space]],
      read: [[slot.space, slot.slot]],
      compose: [[{ space: slot.space, others: ['a1.1'] }, slot.slot]],
      find: [[device]],
      listDigests: [[new Uint8Array(32), { number: 1, key: 1 }]],
      unlistDigests: [[new Uint8Array(32), { number: 2, requests: new Set([1]) }]],
      match: [[createDigestTable(new Uint8Array(32)), { onMatch: () => {} }]],
      spacesOf: [[audience._id]],
      removeSpace: [[slot.space, signal]],
      sweepOrphans: [[{ unnamedForMs: 0, signal }]],
    },
    setVersions: {
      ended: [[partner], ['p-nobody']],
      of: [[partner, audience._id]],
    },
    spills: {
      save: [[{ job: id, slot: 0, devices: [devices] }, testPlacement.hash]],
      jobsIn: [[[0, 1]]],
      sizes: [[[id], [0, 1]]],
      totals: [[id, 0]],
      read: [
        [id, 0],
        [id, 0, 1, 2],
      ],
      forget: [[[0], [id]]],
      forgetBefore: [[1]],
    },
    tokenKeys: {
      create: [[secret, partner]],
      find: [['tk_aaaaaaaa']],
      current: [[partner]],
      // Fails after its first query, because there is no such key.
      rotate: [],
      retire: [],
      list: [[], [partner]],
      reseal: [[[secret]]],
    },
    usage: {
      record: [[[{ job, rows: 1 }]]],
      addBytes: [[partner, '2026-11-16', 1]],
      of: [[partner, '2026-11-16']],
      list: [[partner, 7]],
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
    verdicts: {
      keep: [[id, { ...verdict, passed: Array.from({ length: 1_002 }, (_, file) => 2 * file) }]],
      passedOf: [[stored]],
      collapsedOf: [[stored]],
      forget: [[[id]]],
      forgetBefore: [[1]],
    },
  };
}
