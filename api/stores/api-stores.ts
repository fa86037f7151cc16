/** The stores of the API and the admin commands, created once per process. */
import type { Db } from 'mongodb';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createAckStore } from '../../pipeline/stores/acks.ts';
import { createAttributeDeviceStore } from '../../pipeline/stores/attribute-devices.ts';
import { createAttributeStore } from '../../pipeline/stores/attributes.ts';
import { createAudienceStore } from '../../pipeline/stores/audiences.ts';
import { createCompositionRowStore } from '../../pipeline/stores/composition-rows.ts';
import { createCompositionStore } from '../../pipeline/stores/compositions.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { createDryRunStore } from '../../pipeline/stores/dry-runs.ts';
import { createEventValueStore } from '../../pipeline/stores/event-values.ts';
import { createFileStore } from '../../pipeline/stores/files.ts';
import { createIdentifierListStore } from '../../pipeline/stores/identifier-lists.ts';
import { createJobStore } from '../../pipeline/stores/jobs/jobs.ts';
import { createLateMatchStore } from '../../pipeline/stores/late-matches.ts';
import { createLedgerStore } from '../../pipeline/stores/ledger.ts';
import { createPartnerStore } from '../../pipeline/stores/partners.ts';
import { createReceiptStore } from '../../pipeline/stores/receipts.ts';
import { createRejectStore } from '../../pipeline/stores/rejects.ts';
import { createRequestResultStore } from '../../pipeline/stores/request-results.ts';
import { createSigningKeyStore } from '../../pipeline/stores/signing-keys.ts';
import { createUsageStore } from '../../pipeline/stores/usage.ts';
import { createVoteStore } from '../../pipeline/stores/votes.ts';
import { type Tuning, tuning } from '../../schemas/tuning.ts';
import { createApiKeyStore } from './api-keys.ts';
import { createAuditStore } from './audit.ts';
import { createChangeStore } from './changes.ts';
import { createDeliveryStore } from './deliveries.ts';
import { createDropStore } from './drop.ts';
import { createEndedSessionStore } from './ended-sessions.ts';
import { createIdempotencyStore } from './idempotency.ts';
import { createSetVersions } from './set-versions.ts';
import { createTokenKeyStore } from './token-keys.ts';
import { createWebhookStore } from './webhooks.ts';

export type ApiStores = ReturnType<typeof createApiStores>;

export const createApiStores = (db: Db, limits: Pick<Tuning, 'compositionDeadMs'> = tuning) => ({
  acks: createAckStore(db),
  apiKeys: createApiKeyStore(db),
  lateMatches: createLateMatchStore(db),
  attributes: createAttributeStore(db),
  attributeDevices: createAttributeDeviceStore(db),
  audiences: createAudienceStore(db),
  audit: createAuditStore(db),
  changes: createChangeStore(db),
  votes: createVoteStore(db),
  compositions: createCompositionStore(db, limits),
  compositionRows: createCompositionRowStore(db),
  counters: createCounterStore(db),
  deliveries: createDeliveryStore(db),
  drop: createDropStore(db),
  dryRuns: createDryRunStore(db),
  endedSessions: createEndedSessionStore(db),
  eventValues: createEventValueStore(db),
  files: createFileStore(db),
  identifierLists: createIdentifierListStore(db),
  idempotency: createIdempotencyStore(db),
  jobs: createJobStore(db),
  ledger: createLedgerStore(db),
  partners: createPartnerStore(db),
  rejects: createRejectStore(db),
  receipts: createReceiptStore(db),
  requestResults: createRequestResultStore(db),
  sets: createDeviceSets(db),
  setVersions: createSetVersions(db),
  signingKeys: createSigningKeyStore(db),
  tokenKeys: createTokenKeyStore(db),
  usage: createUsageStore(db),
  webhooks: createWebhookStore(db),
});
