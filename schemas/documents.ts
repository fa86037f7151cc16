/** What is in MongoDB: one type for each collection. Jobs, partners and others have a file of their own beside this one. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { JobDocument } from './job-documents.ts';

/** A key with which the installation signs receipts. */
export interface SigningKeyDocument {
  /** The `kid`: its thumbprint. */
  _id: string;
  /** As a JWK, in JSON. */
  publicKey: string;
  /** The private key as a JWK; encrypted. Absent: it was replaced, and only verifies. */
  sealed?: Binary;
  createdAt: Date;
}

/** The receipt of a privacy request, as a JWS. */
export interface ReceiptDocument {
  /** The request. */
  _id: number;
  partner: string;
  jws: string;
  createdAt: Date;
  expiresAt: Date;
}

export interface AttributeDocument {
  _id: number;
  partner: string;
  name: string;
  /** Increases with each attribute and each association. A job sees only those up to the sequence at its acceptance. */
  sequence: number;
  foreignKey?: string;
  foreignKeySequence?: number;
  /** Shown to its owner alone. Absent: public. */
  isPrivate?: true;
  /** When it ceased to be public, by the database's clock. */
  madePrivateAt?: Date;
  /** It is deleted, and hidden: only jobs from before this number of the sequence see it. Its foreign key stays taken. */
  deletedSequence?: number;
  /** The job that deletes its data. */
  deletedBy?: number;
  createdAt: Date;
}

/** How many devices some attributes have (pipeline/stores/attribute-devices.ts). */
export interface AttributeDevicesDocument {
  _id: number;
  /** The last job of each partner that is included. */
  jobs: Record<string, number>;
  /** By attribute. */
  devices: Record<string, number>;
  /** By attribute: the first and the last import that added devices, since all of its data was last deleted. */
  first?: Record<string, Addition>;
  last?: Record<string, Addition>;
}

/** A job that added devices to an attribute or an audience, and when it was accepted. */
export interface Addition {
  job: number;
  at: Date;
}
export interface Additions {
  first: Addition;
  last: Addition;
}

/** The key that slots and addresses of devices are derived from (pipeline/sets/placement.ts). */
export interface PlacementDocument {
  _id: 'key';
  key: Binary;
  createdAt: Date;
}

/** A number that the processes share (pipeline/stores/counters.ts). */
export interface CounterDocument {
  _id: string;
  value: number;
  /** Of a lease: who has it, and when what a dead process left of it is removed. */
  holder?: string;
  expiresAt?: Date;
  /** Of the job up to which events are recorded: how often the webhooks to record them for have changed. */
  version?: number;
}

export interface AudienceDocument {
  /** The id of the job that created it. */
  _id: number;
  partner: string;
  customer: string | null;
  name: string;
  segment: number;
  /** Raised by each clear; work of an older generation is dropped. */
  generation: number;
  uniqueDevices: number;
  uploadedDevices: number;
  matchedDevices: number;
  /** When that was counted, and by what: loads match the devices that they add, a report counts all. Absent: nothing is loaded. */
  matchedAt?: Date;
  matchedBy?: 'load' | 'report';
  /** Rejected rows of the newest entry of each path. */
  rejected?: Partial<Record<RejectCode, number>>;
  /** 2 or 3: the outcome of the finished loads. Pending and running loads are read from the jobs. */
  outcome: 2 | 3;
  /** Paths of this generation whose last load failed as a whole, and files whose newest entry failed: they keep the outcome at 3. */
  failedPaths?: string[];
  failedFiles?: number;
  /** The last load included in these counts. */
  loadedBy?: number;
  /** The last privacy request that is included: of the partner, and of everyone. */
  erasedBy?: { partner?: number; everyone?: number };
  /** By the database's clock: when it was cleared, and since when nothing is left of earlier generations. Absent once that is final. */
  clearedAt?: Date;
  /** The same, and it stays. */
  lastClearedAt?: Date;
  /** It is hidden. The document stays, so that the first job does not create the audience again. */
  deletedAt?: Date;
  sweptAt?: Date;
  createdAt: Date;
  updatedAt: Date;
}

/** A value of the event column, with its number in the dictionary of its audience's generation (pipeline/stores/event-values.ts). */
export interface EventValueDocument {
  /** `<audience>.<generation>.<value>` */
  _id: string;
  audience: number;
  generation: number;
  number: number;
  value: string;
}

export interface IdempotencyDocument {
  /** `<partner>/<key>`, or `<partner> <customer> <key>` */
  _id: string;
  requestHash: string;
  /** Of the job that the request queues. */
  token: string;
  /** What a request that queues no job is about to do; encrypted. */
  intent?: Binary;
  /** The response; encrypted. */
  answer?: Binary;
  createdAt: Date;
}

/** Removed by MongoDB when the session would have ended anyway. */
export interface EndedSessionDocument {
  _id: string;
  expiresAt: Date;
}

/** One value of the installation, by its name. */
export interface InstallationDocument {
  _id: string;
  value: string;
}

export const collections = {
  installation: 'installation',
  partners: 'partners',
  apiKeys: 'api_keys',
  tokenKeys: 'token_keys',
  attributes: 'attributes',
  attributeDevices: 'attribute_devices',
  counters: 'counters',
  jobs: 'jobs',
  files: 'files',
  audiences: 'audiences',
  eventValues: 'event_values',
  ledger: 'ledger',
  acks: 'acks',
  votes: 'votes',
  filePairs: 'file_pairs',
  verdicts: 'verdicts',
  rejects: 'rejects',
  identifierLists: 'identifier_lists',
  requestResults: 'request_results',
  placement: 'placement',
  suppressionLists: 'suppression_lists',
  manifests: 'manifests',
  pages: 'pages',
  spills: 'spills',
  crashes: 'crashes',
  idempotency: 'idempotency',
  endedSessions: 'ended_sessions',
  compositions: 'compositions',
  compositionRows: 'composition_rows',
  dryRuns: 'dry_runs',
  audit: 'audit',
  usage: 'usage',
  webhooks: 'webhooks',
  deliveries: 'webhook_deliveries',
  arrivals: 'arrivals',
  signingKeys: 'signing_keys',
  receipts: 'receipts',
  dropBatches: 'drop_batches',
  dropParts: 'drop_parts',
  dropAmendments: 'drop_amendments',
} as const;

/** Names of what devices are stored in: the marketplace with all attributes, each generation of an audience, and suppression lists. */
export const spaces = {
  marketplace: 'm',
  audience: (audience: number, generation: number) => `a${audience}.${generation}`,
  /** What a job changes. */
  of: ({ audience, generation }: Pick<JobDocument, 'audience' | 'generation'>) =>
    audience === null ? spaces.marketplace : spaces.audience(audience, generation!),
  /** Digests of suppressed devices, in the slots of the devices: everyone's list, or a partner's own. */
  suppressed: (partner?: string) => (partner === undefined ? 's' : `s.${partner}`),
  /** Digests of devices that are not known, in slots of their own. */
  digests: 'd',
  isList: (space: string) => /^(s|d)(\.|$)/.test(space),
  /** Every generation of an audience begins so. */
  ofAudience: (audience: number) => `a${audience}.`,
  parse(space: string): { audience: number; generation: number } | undefined {
    const [, audience, generation] = /^a(\d+)\.(\d+)$/.exec(space) ?? [];
    return audience ? { audience: Number(audience), generation: Number(generation) } : undefined;
  },
};
