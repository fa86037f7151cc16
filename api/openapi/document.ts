/** The OpenAPI 3.1 document, from the schemas that validate. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { Bodies } from '../../schemas/http.ts';
import { describeAudiences } from './audiences.ts';
import { describeImports } from './imports.ts';
import { type Described, introduction } from './introduction.ts';
import { describePublic } from './public.ts';

export function createOpenApi(config: Described, bodies: Bodies) {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key that was issued to you on provisioning: `Authorization: Bearer <API_KEY>`.',
  });
  describeImports(registry, bodies);
  describeAudiences(registry, bodies);
  describePublic(registry, config);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: { title: 'headrace', version: '1.0.0', description: introduction(config) },
    servers: [{ url: config.publicUrl ?? '/' }],
    tags: [
      {
        name: 'Marketplace import',
        description: 'Data of attributes: queue an import, follow it, delete what attributes hold.',
      },
      {
        name: 'Audience ingest',
        description:
          'First-party audiences: create one from files, append more, clear it. Each call may carry an `x-user-token`.',
      },
      {
        name: 'Audience ingest under /v1',
        description: 'The same audiences at the older address; every operation is that of `/v2`.',
      },
      { name: 'Service', description: 'Needs no key: health, this description, the schemas of the topics.' },
    ],
  });
}
