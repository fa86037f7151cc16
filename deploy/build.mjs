// Compiles the service, the console and the CLI of partners to JavaScript, once per state of the sources; later starts only compare
// file times and sizes. A build is never modified, so a running process keeps its own while the sources are edited.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCli } from './build-cli.mjs';
import { buildConsole } from './build-console.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const builds = join(root, 'node_modules', '.cache', 'headrace');
const folders = ['api', 'pipeline', 'schemas', 'deploy'];
const keptMs = 24 * 3_600_000;

/** Every start reads all of them, so each costs a single stat. */
function* filesIn(path) {
  for (const entry of readdirSync(`${root}/${path}`, { withFileTypes: true })) {
    if (entry.isDirectory()) yield* filesIn(`${path}/${entry.name}`);
    else yield `${path}/${entry.name}`;
  }
}

function fingerprint() {
  const files = [...folders.flatMap((path) => [...filesIn(path)]), 'package.json', 'package-lock.json'];
  const states = files.sort().map((file) => {
    const { mtimeMs, size } = statSync(`${root}/${file}`);
    return `${file} ${mtimeMs} ${size}\n`;
  });
  return createHash('sha256').update(states.join('')).digest('hex').slice(0, 16);
}

async function compile(directory) {
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: {
      headrace: 'deploy/headrace.ts',
      // For tests, which start an API in their own process.
      api: 'api/server.ts',
      'stage-thread': 'pipeline/stage-thread.ts',
      'composition-thread': 'api/resources/composition/thread.ts',
    },
    outdir: directory,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    platform: 'node',
    mainFields: ['module', 'main'],
    target: 'node20',
    // Cached code (code-cache.cjs) can only require, not import.
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
    // Not minified to one line: an uncaught error prints its whole line.
    lineLimit: 160,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'error',
    define: {
      COMMAND_FILES: JSON.stringify(readdirSync(join(root, 'deploy/cli'), { recursive: true })),
      'import.meta.url': 'compiledFile',
    },
    external: ['@node-rs/crc32', 'testcontainers'],
    banner: { js: "const compiledFile = require('node:url').pathToFileURL(__filename).href;" },
  });
  await buildConsole(build, root, join(directory, 'console'));
  await buildCli(build, root, join(directory, 'cli'));
}

function removeOldBuilds() {
  for (const name of readdirSync(builds)) {
    const directory = join(builds, name);
    if (Date.now() - statSync(directory).mtimeMs > keptMs)
      rmSync(directory, { recursive: true, force: true });
  }
}

/** The folder with the compiled service, the console in its folder `console`, the CLI of partners in `cli`. */
export async function ensureBuilt() {
  const directory = join(builds, fingerprint());
  if (existsSync(directory)) return directory;
  const unfinished = `${directory}.${process.pid}`;
  mkdirSync(builds, { recursive: true });
  await compile(unfinished);
  try {
    renameSync(unfinished, directory);
  } catch (error) {
    // Another process has built it.
    if (!existsSync(directory)) throw error;
    rmSync(unfinished, { recursive: true, force: true });
  }
  removeOldBuilds();
  return directory;
}

// `npm run build [-- DIRECTORY]`: what an image runs, next to the packages in node_modules (node DIRECTORY/headrace.cjs api).
if (process.argv[1] === fileURLToPath(import.meta.url))
  await compile(resolve(process.argv[2] ?? join(root, 'dist')));
