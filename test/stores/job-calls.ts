/** Calls to the stores of jobs, of the stages' data, and of device sets. */
import { Binary } from 'mongodb';
import { createDigestTable } from '../../pipeline/formats/digest-table.ts';
import { encodeGroups } from '../../pipeline/wire/device-groups.ts';
import { spaces } from '../../schemas/documents.ts';
import { type FileDocument, type FileFailure, JobStatus } from '../../schemas/job-documents.ts';
import { keyed, numberedDevices, onePart, testPlacement } from '../sets/devices.ts';
import { slotTarget } from '../support/slot-target.ts';

import type { StoreCalls, Subject } from './all-stores.ts';

const { signal } = new AbortController();
const all = { status: 1 } as never;
const failure: FileFailure = { code: 'cancelled', message: 'cleared' };
const device = numberedDevices(0, 1);
const some = keyed({ devices: numberedDevices(0, 10), key: 2 });
const devices = { job: 1, file: 0, batch: 0, slot: 0, part: 0, groups: encodeGroups([]) };

export function jobCalls({ partner, job, accepted, loading, decidedJob, audience }: Subject) {
  const { _id: id } = job;
  const listing = loading.listing!;
  const { generation } = audience;
  const scope = { partner, customer: null };
  const file = { job: loading._id, attempt: 0, file: 0 };
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
  const slot = { space: spaces.audience(audience._id, generation), slot: 0, job: id };
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
    votes: {
      record: [[[{ job: id, attempt: 0, partition: 0, missing: [] }]]],
      votesOn: [[[id], [id + 1]]],
      ofAttempt: [[id, 0]],
      forget: [[[id]]],
      forgetBefore: [[1]],
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
      entriesOfAudience: [[audience._id, generation]],
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
      additionsTo: [[audience._id, 1]],
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
      requestsFor: [[{ source: 'drop', reason: 'DROP batch 1' }]],
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
      resume: [
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
    sets: {
      placement: [[]],
      merge: [[slotTarget({ ...slot, matchIn: spaces.marketplace }), onePart(some)]],
      lookAhead: [[slot, some]],
      erase: [[slotTarget({ ...slot, job: slot.job + 2 }), some]],
      fence: [[slot]],
      look: [[slot, some]],
      holders: [
        [{ spaces: [slot.space, 'a1.1'], slot: slot.slot }, some],
        [{ slot: slot.slot }, some],
      ],
      suppressedIdentifiers: [[partner, ['8f9bb0d55b0c4e2b9c1d2f6c1f0e7a11']]],
      suppressedAmong: [[partner, slot.slot, some]],
      suppressionLists: [[partner]],
      removeKeys: [[slotTarget(slot), new Set([1])]],
      drop: [[slotTarget({ ...slot, job: slot.job + 1 })]],
      count: [[slot.space]],
      read: [[slot.space, slot.slot]],
      compose: [[{ space: slot.space, others: ['a1.1'] }, slot.slot]],
      find: [[device]],
      listDigests: [[new Uint8Array(32), { number: 1, key: 1 }]],
      unlistDigests: [[new Uint8Array(32), { number: 2, requests: new Set([1]) }]],
      match: [[createDigestTable(new Uint8Array(32)), { onMatch: () => {} }]],
      spacesOf: [[[audience._id]]],
      removeSpace: [[slot.space, signal]],
      sweepOrphans: [[{ unnamedForMs: 0, signal }]],
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
      jobs: [[]],
      forget: [[[0], [id]]],
      forgetAll: [[[id]]],
      forgetBefore: [[1]],
    },
    verdicts: {
      keep: [[id, { ...verdict, passed: Array.from({ length: 1_002 }, (_, file) => 2 * file) }]],
      passedOf: [[stored]],
      collapsedOf: [[stored]],
      forget: [[[id]]],
      forgetBefore: [[1]],
    },
  } satisfies Partial<StoreCalls>;
}
