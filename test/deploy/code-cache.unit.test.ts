/** V8's code cache is stored beside a build and used by the next process; an incompatible cache is replaced. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { HEAP_FLAGS } from '../../pipeline/worker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const build = join(root, 'node_modules/.cache/headrace', `test-${process.pid}`);
const program = `const { Worker, isMainThread, parentPort } = require('node:worker_threads');
if (!isMainThread) parentPort.postMessage('from a thread');
else new Worker(__filename, { execArgv: process.execArgv }).on('message', (text) => console.log(require('node:path').basename(__filename), text));
`;
afterAll(() => rmSync(build, { recursive: true }));

const run = (command: string) =>
  execFileSync(
    process.execPath,
    ['--require', join(root, 'deploy/code-cache.cjs'), join(build, 'program.cjs'), command],
    { encoding: 'utf8' },
  );

it('is written by the first process, and written again if it is broken', () => {
  mkdirSync(build, { recursive: true });
  writeFileSync(join(build, 'program.cjs'), program);
  const expected = 'program.cjs from a thread\n';
  expect(run('first')).toBe(expected);
  const caches = () => readdirSync(join(build, 'code-cache')).sort();
  expect(caches()).toEqual(['program.cjs.first', 'program.cjs.none']);
  const cache = join(build, 'code-cache', 'program.cjs.first');
  const written = readFileSync(cache);
  expect(run('first')).toBe(expected);
  expect(readFileSync(cache).equals(written)).toBe(true);
  writeFileSync(cache, written.subarray(0, 100));
  expect(run('first')).toBe(expected);
  expect(readFileSync(cache).length).toBeGreaterThan(100);
});

it('is used by the next pipeline, although a pipeline sets flags of V8', () => {
  mkdirSync(build, { recursive: true });
  writeFileSync(join(build, 'program.cjs'), `require('node:v8').setFlagsFromString('${HEAP_FLAGS}');`);
  run('pipeline');
  const cache = join(build, 'code-cache', 'program.cjs.pipeline');
  const { ino } = statSync(cache);
  run('pipeline');
  expect(statSync(cache).ino).toBe(ino);
});
