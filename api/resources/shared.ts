/** What all resources share: their dependencies, and the paths that several of them extend. */
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
/** What belongs to a partner as a whole. */
export const marketplace = { tag: 'Marketplace import', access: 'partner' } as const;

export const audiencePath = '/v2/firstparty/audience';
/** What a user token can limit to one customer. */
export const firstparty = { tag: 'Audience ingest', access: 'user' } as const;

/** The specification has audiences under two versions: every operation is identical to the one under `/v2`. */
export const underV1 = (operation: Operation): Operation => ({
  ...operation,
  path: operation.path.replace('/v2/', '/v1/'),
  operationId: `${operation.operationId}V1`,
  tag: `${operation.tag} under /v1`,
});
