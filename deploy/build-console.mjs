// Compiles the console for browsers: hashed names, so that assets are cached for ever, and each file compressed once.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const sources = 'api/console';

function writeCompressed(file, content) {
  writeFileSync(file, content);
  writeFileSync(`${file}.br`, brotliCompressSync(content));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

/** The page names its entries without a hash: main.js becomes main-<hash>.js. */
function withHashes(page, { outputs }) {
  return Object.entries(outputs).reduce((html, [path, { entryPoint }]) => {
    if (entryPoint === undefined) return html;
    const name = basename(path);
    return html.replace(name.replace(/-[A-Z0-9]+(?=\.\w+$)/, ''), name);
  }, page);
}

/** Writes `index.html`, `assets/` and `maps/`; source maps are for debugging, and are not served. */
export async function buildConsole(build, root, directory) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`${sources}/main.tsx`, `${sources}/styles.css`],
    outdir: directory,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    sourcemap: 'external',
    legalComments: 'none',
    logLevel: 'error',
  });
  for (const folder of ['assets', 'maps']) mkdirSync(join(directory, folder), { recursive: true });
  for (const { path, contents } of outputFiles) {
    const name = basename(path);
    if (name.endsWith('.map')) writeFileSync(join(directory, 'maps', name), contents);
    else writeCompressed(join(directory, 'assets', name), contents);
  }
  const page = readFileSync(join(root, sources, 'index.html'), 'utf8');
  writeCompressed(join(directory, 'index.html'), withHashes(page, metafile));
}
