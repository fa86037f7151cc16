/** The stores shared by the stages, one per collection. */

import type { Db } from 'mongodb';
import { createAckStore } from './acks.ts';
import { createAttributeDeviceStore } from './attribute-devices.ts';
import { createAttributeStore } from './attributes.ts';
import { createAudienceStore } from './audiences.ts';
import { createCompositionRowStore } from './composition-rows.ts';
import { createCompositionStore } from './compositions.ts';
import { createCounterStore } from './counters.ts';
import { createCrashStore } from './crashes.ts';
import { createDryRunStore } from './dry-runs.ts';
import { createEventValueStore } from './event-values.ts';
import { createFileStore } from './files.ts';
import { createIdentifierListStore } from './identifier-lists.ts';
import { createJobContexts } from './job-contexts.ts';
import { createJobStore } from './jobs/jobs.ts';
import { createLedgerStore } from './ledger.ts';
import { createPartnerStore } from './partners.ts';
import { createReceiptStore } from './receipts.ts';
import { createRejectStore } from './rejects.ts';
import { createRequestResultStore } from './request-results.ts';
import { createSigningKeyStore } from './signing-keys.ts';
import { createSpillStore } from './spills.ts';
import { createUsageStore } from './usage.ts';
import { createVerdictStore } from './verdicts.ts';
import { createVoteStore } from './votes.ts';

export const createStores = (db: Db) => ({
  jobs: createJobStore(db),
  files: createFileStore(db),
  ledger: createLedgerStore(db),
  attributes: createAttributeStore(db),
  attributeDevices: createAttributeDeviceStore(db),
  audiences: createAudienceStore(db),
  eventValues: createEventValueStore(db),
  compositions: createCompositionStore(db),
  compositionRows: createCompositionRowStore(db),
  dryRuns: createDryRunStore(db),
  counters: createCounterStore(db),
  acks: createAckStore(db),
  votes: createVoteStore(db),
  crashes: createCrashStore(db),
  verdicts: createVerdictStore(db),
  spills: createSpillStore(db),
  rejects: createRejectStore(db),
  identifierLists: createIdentifierListStore(db),
  requestResults: createRequestResultStore(db),
  receipts: createReceiptStore(db),
  signingKeys: createSigningKeyStore(db),
  contexts: createJobContexts(db),
  partners: createPartnerStore(db),
  usage: createUsageStore(db),
});

export type Stores = ReturnType<typeof createStores>;
