// Bundles the commands of partners into one file that needs nothing but Node. The API serves it at /cli. The same sources give the same bytes.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldestNode = engines.node.replace('>=', '');

/** Node runs the file as CommonJS or as a module, depending on what lies beside it: this works in both. */
const banner = `#!/usr/bin/env node
// headrace: commands for partners. https://nodejs.org ${oldestNode} or newer is all it needs.
((require) => {`;
const footer = `})((() => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = [${oldestNode.split('.').join(', ')}];
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    console.error('headrace needs Node ${oldestNode} or newer; this is ' + process.versions.node);
    process.exit(1);
  }
  return process.getBuiltinModule('node:module').createRequire('file:///');
})());`;

/** Writes `headrace` and `headrace.sha256`, in the form that sha256sum -c reads, and returns the checksum. */
export async function buildCli(build, root, directory) {
  const commands = readdirSync(join(root, 'deploy/cli/partner/commands'));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['deploy/partner-cli.ts'],
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    mainFields: ['module', 'main'],
    target: 'node20',
    minify: true,
    legalComments: 'none',
    logLevel: 'error',
    define: { PARTNER_COMMANDS: JSON.stringify(commands.map((name) => basename(name, '.ts')).sort()) },
    banner: { js: banner },
    footer: { js: footer },
  });
  const { contents } = outputFiles[0];
  const checksum = createHash('sha256').update(contents).digest('hex');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'headrace'), contents);
  chmodSync(join(directory, 'headrace'), 0o755);
  writeFileSync(join(directory, 'headrace.sha256'), `${checksum}  headrace\n`);
  return { checksum, bytes: contents.length };
}

// `npm run build:cli [-- DIRECTORY]`
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const directory = resolve(process.argv[2] ?? join(root, 'dist', 'cli'));
  const { build } = await import('esbuild');
  const { checksum, bytes } = await buildCli(build, root, directory);
  process.stdout.write(`${join(directory, 'headrace')}\n${bytes} bytes, SHA-256 ${checksum}\n`);
}
