// Bundles the commands of partners into one file that needs only Node. The API serves it at /cli. Reproducible: same sources, same bytes.
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldestNode = engines.node.replace('>=', '');

/** Node runs the file as CommonJS or as a module, depending on the nearest package.json: this works in both. */
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

/** Required by the licences of the bundled packages: names, copyright notices and texts, each text once. */
function noticesOf(root, inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const named = new Map();
  for (const folder of [...new Set(folders)].sort()) {
    const { name, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? readFileSync(join(root, folder, file), 'utf8').trim() : '';
    // Copies of the Apache licence differ in white space.
    const key = license === 'Apache-2.0' ? license : text;
    const known = named.get(key) ?? { license, names: [], text };
    named.set(key, { ...known, names: [...known.names, name], text: known.text || text });
  }
  const parts = [...named.values()].map(
    ({ license, names, text }) => `${names.join(', ')} (${license}):\n\n${text}`,
  );
  return `\n/* Contains these packages:\n\n${parts.join('\n\n').replaceAll('*/', '* /')}\n*/\n`;
}

/** Writes `headrace` and `headrace.sha256`, in the form that sha256sum -c reads, and returns the checksum. */
export async function buildCli(build, root, directory) {
  const commands = readdirSync(join(root, 'deploy/cli/partner/commands'));
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['deploy/partner-cli.ts'],
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    mainFields: ['module', 'main'],
    target: 'node20',
    minify: true,
    // Licence notices are appended at the end.
    legalComments: 'none',
    logLevel: 'error',
    metafile: true,
    define: { PARTNER_COMMANDS: JSON.stringify(commands.map((name) => basename(name, '.ts')).sort()) },
    banner: { js: banner },
    footer: { js: footer },
  });
  const [bundle] = Object.values(metafile.outputs);
  const inputs = Object.keys(bundle.inputs).filter((path) => bundle.inputs[path].bytesInOutput > 0);
  const contents = Buffer.from(outputFiles[0].text.trimEnd() + noticesOf(root, inputs));
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
