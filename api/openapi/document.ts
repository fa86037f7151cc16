/** The OpenAPI 3.1 document, from the schemas that validate. */
import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import type { Config } from '../../schemas/config.ts';
import type { Bodies } from '../../schemas/http.ts';
import { describeAudiences } from './audiences.ts';
import { describeImports } from './imports.ts';
import { describePublic } from './public.ts';

export function createOpenApi(config: Pick<Config, 'publicUrl'>, bodies: Bodies) {
  const registry = new OpenAPIRegistry();
  registry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'The API key issued to the partner.',
  });
  describeImports(registry, bodies);
  describeAudiences(registry, bodies);
  describePublic(registry);
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'headrace',
      version: '1.0.0',
      description:
        'Imports files of mobile advertising identifiers, and ingests audiences from them. Jobs complete in the order in which they were accepted. Errors are application/problem+json with a stable `code`.',
    },
    servers: [{ url: config.publicUrl ?? '/' }],
    tags: [
      { name: 'Marketplace import', description: 'Attribute data: queue, follow, delete.' },
      { name: 'Audience ingest', description: 'First-party audiences: create, append, clear.' },
      { name: 'Service', description: 'Health, this description, and the topics’ schemas.' },
    ],
  });
}
