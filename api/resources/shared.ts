/** Shared by all resources: dependencies and common paths. */
import type { Publisher } from '../../pipeline/kafka/publish.ts';
import type { Logger } from '../../pipeline/runtime/log.ts';
import type { Tracer } from '../../pipeline/runtime/traces.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import type { Bodies } from '../../schemas/http.ts';
import type { KnownPartners } from '../auth/known.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { AcceptQueue } from '../jobs/accept-queue.ts';
import type { DailyQuota } from '../jobs/daily-quota.ts';
import type { PendingJobs } from '../jobs/pending-jobs.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import type { CompositionReports } from './composition/reports.ts';
import type { EventHub } from './events/hub.ts';

export interface Dependencies extends ApiStores {
  config: ConfigOf<'api'>;
  /** Whether MongoDB answers. */
  ping(): Promise<boolean>;
  publisher: Publisher;
  queue: AcceptQueue;
  pending: PendingJobs;
  dailyQuota: DailyQuota;
  knownPartners: KnownPartners;
  compositionReports: CompositionReports;
  events: EventHub;
  bodies: Bodies;
  metrics: Metrics;
  tracer?: Tracer;
  log: Logger;
}

export const importPath = '/v1/marketplace/import';
/** Belongs to a partner as a whole. */
export const marketplace = { tag: 'Marketplace import', access: 'partner' } as const;

export const audiencePath = '/v2/firstparty/audience';
/** Can be limited to one customer by a user token. */
export const firstparty = { tag: 'Audience ingest', access: 'user' } as const;

/** The specification has audiences under two versions, with identical operations. */
export const underV1 = (operation: Operation): Operation => ({
  ...operation,
  path: operation.path.replace('/v2/', '/v1/'),
  operationId: `${operation.operationId}V1`,
  tag: `${operation.tag} under /v1`,
});
