/** Finds imports against the layers: deploy -> api -> pipeline -> schemas, and only downward inside. */
import { posix } from 'node:path';
import { parseSync } from 'oxc-parser';

/** The longest entry that a path begins with decides; `!` excludes. */
type Paths = string[];

const ground = ['schemas', 'pipeline/runtime', 'pipeline/formats', 'pipeline/wire'];
const overEngine = [...ground, 'pipeline/engine'];
const overStores = [...overEngine, 'pipeline/stores', 'pipeline/sets', 'pipeline/sources'];
const stages = [...overStores, 'pipeline/kafka', 'pipeline/accept', 'pipeline/fault-points.ts'];
const pipeline = [...stages, 'pipeline/dry-runs'];
const api = [...pipeline, 'api/http', 'api/stores', 'api/auth'];
const resources = [...api, 'api/jobs', 'api/describe', 'api/resources/shared.ts'];
const withDryRuns = [...resources, 'api/resources/dry-runs'];
const withRecords = [...resources, 'api/resources/imports', 'api/resources/audiences'];
const partnerCommands = [
  ...['schemas', 'pipeline/runtime', 'pipeline/sources', 'api/client', 'api/describe'],
  ...['deploy/cli', '!deploy/cli/admin', '!deploy/cli/operator', '!deploy/cli/local'],
];

/** What each folder may import beside itself; the longest folder that holds a file decides. */
const layers: Record<string, Paths> = {
  schemas: [],
  pipeline: ['schemas'],
  'pipeline/runtime': ground,
  'pipeline/formats': ground,
  'pipeline/wire': ground,
  'pipeline/engine': ground,
  'pipeline/kafka': overEngine,
  'pipeline/stores': overEngine,
  'pipeline/sets': overStores,
  'pipeline/sources': overStores,
  'pipeline/accept': stages,
  'pipeline/stages': stages,
  api: pipeline,
  'api/http': pipeline,
  'api/stores': pipeline,
  'api/auth': api,
  'api/describe': api,
  'api/jobs': api,
  'api/provisioning': api,
  'api/resources/attributes': withDryRuns,
  'api/resources/audiences': withDryRuns,
  'api/resources/console': withDryRuns,
  'api/resources/dry-runs': resources,
  'api/resources/imports': withDryRuns,
  'api/resources/composition': withRecords,
  'api/resources/events': withRecords,
  'api/resources/webhooks': withRecords,
  'api/client': ['schemas', 'pipeline/runtime/deadline.ts', 'pipeline/formats/head.ts'],
  'api/console': ['schemas', 'api/client'],
  deploy: ['schemas', 'pipeline', 'api'],
  'deploy/bootstrap.mjs': ['deploy', 'test/run.mjs'],
  'deploy/cli/partner': partnerCommands,
  'deploy/cli/load': partnerCommands,
  'deploy/cli/operator': [
    ...['schemas', 'pipeline', 'api', 'deploy'],
    ...['!deploy/cli/partner', '!deploy/cli/load', '!deploy/cli/admin', '!deploy/demo'],
  ],
  'deploy/cli/admin': [
    ...['schemas', 'pipeline', 'api', 'deploy'],
    ...['!deploy/cli/partner', '!deploy/cli/load', '!deploy/cli/operator', '!deploy/demo'],
  ],
  'deploy/local': ['schemas'],
};

/** Who may import these at all. */
const restricted: Record<string, Paths> = {
  kafkajs: ['pipeline/kafka', 'deploy/local'],
  mongodb: ['schemas', 'pipeline', 'api', 'deploy', '!deploy/cli/partner', '!deploy/cli/load'],
  /** The client and the console run in browsers. */
  node: ['schemas', 'pipeline', 'api', '!api/client', '!api/console', 'deploy'],
  /** Every query of a collection is in its store. */
  'schemas/documents.ts collections': [
    'pipeline',
    '!pipeline/accept',
    '!pipeline/stages',
    'api/stores',
    'deploy',
  ],
};

const holds = (folder: string, path: string) => path === folder || path.startsWith(`${folder}/`);

function includes(paths: Paths, path: string): boolean {
  const name = (entry: string) => entry.replace('!', '');
  const [longest] = paths
    .filter((entry) => holds(name(entry), path))
    .toSorted((a, b) => name(b).length - name(a).length);
  return longest !== undefined && !longest.startsWith('!');
}

function layerOf(path: string): string {
  const [longest] = Object.keys(layers)
    .filter((folder) => holds(folder, path))
    .toSorted((a, b) => b.length - a.length);
  if (!longest) throw new Error(`${path} is in no layer`);
  return longest;
}

/** What a file imports: paths from the root of the repository, names of packages, and `path name` for names. */
function importsOf(path: string, text: string): string[] {
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const resolve = (source: string) =>
    source.startsWith('.') ? posix.join(posix.dirname(path), source) : source.split(/[:/]/)[0]!;
  const named = module.staticImports.flatMap(({ moduleRequest, entries }) =>
    entries.map(({ importName }) => `${resolve(moduleRequest.value)} ${importName.name}`),
  );
  const sources = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
  return [...new Set(sources.map(resolve)), ...named];
}

export function findUpwardImports(path: string, text: string): string[] {
  const layer = layerOf(path);
  const isAllowed = (imported: string) => {
    const importers = restricted[imported];
    if (importers) return includes(importers, path);
    const isOurs = imported.includes('/') && !imported.includes(' ');
    return !isOurs || includes([layer, ...layers[layer]!], imported);
  };
  return importsOf(path, text).filter((imported) => !isAllowed(imported));
}
