/** All operations of the API. A new one joins the list of its resource. */
import { createOpenApi } from '../describe/openapi.ts';
import { registryOperations } from '../describe/schema-registry.ts';
import { serviceOperations } from '../describe/service-operations.ts';
import type { Operation } from '../http/operation.ts';
import { accountOperations } from './account/account-operations.ts';
import { attributeOperations } from './attributes/attribute-operations.ts';
import { audienceOperations } from './audiences/audience-operations.ts';
import { loadOperations } from './audiences/load-operations.ts';
import { cliOperations } from './cli/cli-operations.ts';
import { compositionOperations } from './composition/composition-operations.ts';
import { shareOperation } from './composition/share-operation.ts';
import { createDryRuns } from './dry-runs/dry-runs.ts';
import { eventOperations } from './events/event-operations.ts';
import { importOperations } from './imports/import-operations.ts';
import { privacyOperations } from './privacy/privacy-operations.ts';
import { type Dependencies, underV1 } from './shared.ts';
import { deliveryOperations } from './webhooks/delivery-operations.ts';
import { sentEvents } from './webhooks/sent-events.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

export function createOperations(deps: Dependencies): Operation[] {
  const dryRuns = createDryRuns(deps);
  const events = eventOperations(deps);
  const audiences = [
    ...audienceOperations(deps, dryRuns.queue),
    dryRuns.ofAudience,
    ...loadOperations(deps),
    ...compositionOperations(deps),
    shareOperation(deps),
    events.ofAudiences,
  ];
  const operations: Operation[] = [
    ...importOperations(deps, dryRuns.queue),
    dryRuns.ofImport,
    events.ofImports,
    ...attributeOperations(deps),
    ...audiences,
    ...audiences.map(underV1),
    ...webhookOperations(deps),
    ...deliveryOperations(deps),
    ...privacyOperations(deps),
    ...accountOperations(deps),
    ...cliOperations(),
    ...serviceOperations(deps, () => createOpenApi(deps.config, operations, sentEvents)),
    ...registryOperations(deps.config),
  ];
  return operations;
}
