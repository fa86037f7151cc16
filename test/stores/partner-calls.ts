/** Calls to the stores of partners, attributes, audiences and reports. */
import { Binary } from 'mongodb';
import type { IdempotencyDocument } from '../../schemas/documents.ts';
import { JobStatus } from '../../schemas/job-documents.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';

import type { StoreCalls, Subject } from './all-stores.ts';

const { signal } = new AbortController();
const newPartner = { _id: 'p-new', name: 'new', prefix: 'p-new/' } as PartnerDocument;

export function partnerCalls({ partner, job, audience }: Subject) {
  const { _id: id } = job;
  const { generation } = audience;
  const scope = { partner, customer: null };
  const customer = { partner, customer: 'c' };
  const mark = { _id: `${partner}/key`, token: 'token' } as IdempotencyDocument;
  const secret = new Uint8Array(32);
  const loaded = {
    newDevices: 1,
    matchedDevices: 1,
    uploadedDevices: 1,
    failedFiles: 0,
    errors: null,
  };
  const report = { generation, ended: { marketplace: 0, loads: 0 } } as never;
  return {
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
      additionsTo: [[[1, 2]]],
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
      spacesOf: [[partner, 10]],
      currentAmong: [[[`a${audience._id}.1`]]],
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
    idempotency: {
      claim: [[scope, 'key', { requestHash: 'hash', token: 'token' }]],
      renewToken: [[mark]],
      storeAnswer: [[mark, new Binary()]],
      intentOf: [[mark]],
      fixIntent: [[mark, new Binary()]],
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
    lateMatches: {
      record: [[[new Uint8Array(16)]]],
      some: [[10]],
      forget: [[[new Uint8Array(16)]]],
    },
    setVersions: {
      ended: [[partner], ['p-nobody']],
      of: [[partner, audience._id]],
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
  } satisfies Partial<StoreCalls>;
}
