/** Documents in MongoDB, one type per collection. Jobs, partners and others have their own files next to this one. */
import type { Binary } from 'mongodb';
import type { RejectCode } from './codes.ts';
import type { JobDocument } from './job-documents.ts';

/** A key for signing receipts. */
export interface SigningKeyDocument {
  /** The `kid`: its thumbprint. */
  _id: string;
  /** JWK as JSON. */
  publicKey: string;
  /** The private key as a JWK, encrypted. Absent: it was replaced and only verifies. */
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
  /** Visible only to its owner. Absent: public. */
  isPrivate?: true;
  /** When it became private, by the database's clock. */
  madePrivateAt?: Date;
  /** It is deleted and hidden: only jobs accepted before this sequence number see it. Its foreign key stays taken. */
  deletedSequence?: number;
  /** The job that deletes its data. */
  deletedBy?: number;
  createdAt: Date;
}

/** Device counts of some attributes (pipeline/stores/attribute-devices.ts). */
export interface AttributeDevicesDocument {
  _id: number;
  /** The last included job of each partner. */
  jobs: Record<string, number>;
  /** By attribute. */
  devices: Record<string, number>;
  /** By attribute: the first and the last import that added devices since its data was last deleted. */
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

/** The key from which slots and addresses of devices are derived (pipeline/sets/placement.ts). */
export interface PlacementDocument {
  _id: 'key';
  key: Binary;
  createdAt: Date;
}

/** A number shared by all processes (pipeline/stores/counters.ts). */
export interface CounterDocument {
  _id: string;
  value: number;
  /** Leases: the holder, and the TTL of a lease left by a dead process. */
  holder?: string;
  expiresAt?: Date;
  /** Watermark of recorded events: number of changes to webhooks. */
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
  /** When and by what it was counted: a load matches only the devices it adds, a report counts all. Absent: nothing is loaded. */
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
  /** The last included privacy request: by the partner, and for all partners. */
  erasedBy?: { partner?: number; everyone?: number };
  /** By the database's clock: when it was cleared, and (`sweptAt`) when earlier generations were swept. Absent once that is final. */
  clearedAt?: Date;
  /** Like `clearedAt`, but permanent. */
  lastClearedAt?: Date;
  /** Hidden. The document stays as a tombstone, so that the first job does not create the audience again. */
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
  /** The request token of the job that the request queues. */
  token: string;
  /** The intended change of a request that queues no job; encrypted. */
  intent?: Binary;
  /** The response; encrypted. */
  answer?: Binary;
  createdAt: Date;
}

/** Removed by a TTL index when the session would have expired. */
export interface EndedSessionDocument {
  _id: string;
  expiresAt: Date;
}

/** A named value of the installation. */
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
  lateMatches: 'late_matches',
  signingKeys: 'signing_keys',
  receipts: 'receipts',
  dropBatches: 'drop_batches',
  dropParts: 'drop_parts',
  dropAmendments: 'drop_amendments',
} as const;

/** Names of spaces: the marketplace with all attributes, each generation of an audience, and suppression lists. */
export const spaces = {
  marketplace: 'm',
  audience: (audience: number, generation: number) => `a${audience}.${generation}`,
  /** The space that a job changes. */
  of: ({ audience, generation }: Pick<JobDocument, 'audience' | 'generation'>) =>
    audience === null ? spaces.marketplace : spaces.audience(audience, generation!),
  /** Digests of suppressed devices, in the slots of the devices: for all partners, or for one. */
  suppressed: (partner?: string) => (partner === undefined ? 's' : `s.${partner}`),
  /** Digests suppressed without their devices, in the slots of the digests. */
  digests: 'd',
  isList: (space: string) => /^(s|d)(\.|$)/.test(space),
  /** Prefix of all generations of an audience. */
  ofAudience: (audience: number) => `a${audience}.`,
  parse(space: string): { audience: number; generation: number } | undefined {
    const [, audience, generation] = /^a(\d+)\.(\d+)$/.exec(space) ?? [];
    return audience ? { audience: Number(audience), generation: Number(generation) } : undefined;
  },
};
