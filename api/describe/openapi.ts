/** The OpenAPI 3.1 document, generated from the schemas that validate requests. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { Bodies } from '../../schemas/http.ts';
import { describeAudiences } from '../resources/audiences/describe-audiences.ts';
import { describeComposition } from '../resources/composition/describe-composition.ts';
import { describeLive } from '../resources/events/describe-live.ts';
import { describeImports } from '../resources/imports/describe-imports.ts';
import { describeWebhooks } from '../resources/webhooks/describe-webhooks.ts';
import { describeRegistry } from './describe-registry.ts';
import { describePublic } from './describe-service.ts';
import { type Described, introduction } from './introduction.ts';

export function createOpenApi(config: Described, bodies: Bodies) {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key that was issued to you: `Authorization: Bearer <API_KEY>`.',
  });
  describeImports(registry, bodies);
  describeAudiences(registry, bodies);
  describeComposition(registry);
  describeLive(registry);
  describeWebhooks(registry);
  describePublic(registry);
  describeRegistry(registry, config);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: { title: 'headrace', version: '1.0.0', description: introduction(config) },
    servers: [{ url: config.publicUrl ?? '/' }],
    tags: [
      {
        name: 'Marketplace import',
        description: 'Marketplace attributes: queue an import, poll its status, delete attribute data.',
      },
      {
        name: 'Audience ingest',
        description:
          'First-party audiences: create one from files, append files, clear it. Every call accepts an `x-user-token`.',
      },
      {
        name: 'Audience ingest under /v1',
        description:
          'The same audiences under the older path. Every operation is identical to the one under `/v2`.',
      },
      {
        name: 'Webhooks',
        description:
          'Be told when a job ends: signed POST requests to a URL of yours, with a log of all deliveries.',
      },
      {
        name: 'Service',
        description: 'Health and this documentation. No API key needed.',
      },
      {
        name: 'Schema registry',
        description:
          'The Avro schemas of the Kafka topics, as a read-only Schema Registry: give any client of one the base URL of this API. No API key needed; query parameters that are not known are ignored. Errors have the form of that API, `error_code` and `message`; writes give 422 with `error_code` 42205. [The topics](/docs/topics) have a page of their own.',
      },
    ],
  });
}
