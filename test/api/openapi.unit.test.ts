/** Router and document are equal: nothing is answered that is not described, nothing described that is not answered. */
import { describe, expect, it } from 'vitest';
import type { Dependencies } from '../../api/context.ts';
import { createOpenApi } from '../../api/openapi/document.ts';
import { createRoutes } from '../../api/routes/table.ts';
import { parseConfig } from '../../schemas/config.ts';
import { createBodies } from '../../schemas/http.ts';
import { readEnvFile } from '../support/env-file.ts';

const config = parseConfig(readEnvFile(new URL('../../deploy/config/minimal.env', import.meta.url)));
const bodies = createBodies({ pathBytes: config.limitPathBytes, keys: config.limitKeys });
// Routes are only built here, never called: no database or broker is touched.
const routes = createRoutes({ config, bodies } as Dependencies);
const document = createOpenApi(config, bodies);

describe('openapi', () => {
  it('and the router name the same operations', () => {
    const routed = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const described = Object.entries(document.paths!).flatMap(([path, item]) =>
      Object.keys(item!).map((method) => `${method} ${path}`),
    );
    expect(described.toSorted()).toEqual(routed.toSorted());
  });

  it('and the router agree on who must authenticate, and on what takes a body', () => {
    for (const { method, path, access, body } of routes) {
      const operation = document.paths![path.replace(/:(\w+)/g, '{$1}')]![method]!;
      const where = `${method} ${path}`;
      expect([where, operation.security!.length > 0]).toEqual([where, access !== 'public']);
      expect([where, operation.requestBody !== undefined]).toEqual([where, body !== undefined]);
      const headers = (operation.parameters ?? []).map((parameter) =>
        'name' in parameter ? parameter.name : '',
      );
      expect([where, headers.includes('x-user-token')]).toEqual([where, access === 'user']);
      expect([where, headers.includes('Idempotency-Key')]).toEqual([where, body !== undefined]);
    }
  });
});
