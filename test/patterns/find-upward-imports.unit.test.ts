/** The scan of `npm run check` finds imports against the layers. */
import { expect, it } from 'vitest';
import { findUpwardImports } from './find-upward-imports.ts';

it.each([
  ['schemas/a.ts', '../pipeline/runtime/b.ts', 'pipeline/runtime/b.ts'],
  ['pipeline/formats/a.ts', '../stores/b.ts', 'pipeline/stores/b.ts'],
  ['pipeline/stages/split/a.ts', 'kafkajs', 'kafkajs'],
  ['pipeline/stages/a.ts', '../topology.ts', 'pipeline/topology.ts'],
  ['api/http/a.ts', '../jobs/b.ts', 'api/jobs/b.ts'],
  ['api/resources/events/a.ts', '../webhooks/b.ts', 'api/resources/webhooks/b.ts'],
  ['api/client/a.ts', 'node:fs', 'node'],
  ['deploy/cli/partner/a.ts', '../admin/b.ts', 'deploy/cli/admin/b.ts'],
  ['deploy/a.ts', '../test/b.ts', 'test/b.ts'],
])('%s must not import %s', (path, source, found) => {
  for (const text of [
    `import { b } from '${source}'`,
    `export * from '${source}'`,
    `await import('${source}')`,
  ])
    expect(findUpwardImports(path, `${text};`)).toEqual([found]);
});

it('a collection is imported in its store only', () => {
  const text = `import { collections, type B } from '../../schemas/documents.ts';`;
  expect(findUpwardImports('api/stores/a.ts', text)).toEqual([]);
  expect(findUpwardImports('api/auth/a.ts', text)).toEqual(['schemas/documents.ts collections']);
});

it.each([
  ['pipeline/stages/a.ts', '../stores/b.ts'],
  ['api/resources/events/a.ts', '../imports/b.ts'],
  ['deploy/cli/partner/a.ts', '../show.ts'],
  ['api/client/a.ts', '../../schemas/b.ts'],
])('%s may import %s', (path, source) => {
  expect(findUpwardImports(path, `import { b } from '${source}';`)).toEqual([]);
});
