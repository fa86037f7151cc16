// Stores V8's compile cache beside a build, which halves the CPU time of starting a process or a thread. Node 20 has no such cache. A
// cache of another Node version or other flags is ignored and rewritten.
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { basename, dirname, join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');
const { threadId } = require('node:worker_threads');

/** A service is up by then. */
const WRITE_AFTER_MS = 3_000;
/** Exit code of a usage error: the command may not exist. */
const USAGE_ERROR = 2;
/** One cache per command, because each runs a different part of the same file. */
const [command] = /^[a-z]+$/.exec(process.argv[2] ?? '') ?? ['none'];
/** What pipeline/worker.ts sets: the cache is written under these flags, so it must be read under them, too. */
if (command === 'pipeline') setFlagsFromString('--heap-growing-percent=150 --max-semi-space-size=8');
const builds = join(dirname(__dirname), 'node_modules', '.cache', 'headrace');

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

function write(script, file) {
  const unfinished = `${file}.${process.pid}.${threadId}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(unfinished, script.createCachedData());
    renameSync(unfinished, file);
  } catch {
    // Ignored: the next process tries again.
  }
}

const compile = Module.prototype._compile;
Module.prototype._compile = function (content, filename, ...others) {
  if (!filename.startsWith(builds)) return compile.call(this, content, filename, ...others);
  const cache = join(dirname(filename), 'code-cache', `${basename(filename)}.${command}`);
  const cachedData = readIfThere(cache);
  const script = new Script(Module.wrap(content), { filename, cachedData });
  if (!cachedData || script.cachedDataRejected) {
    let isWritten = false;
    const writeOnce = (code) => {
      if (!isWritten && code !== USAGE_ERROR) write(script, cache);
      isWritten = true;
    };
    setTimeout(writeOnce, WRITE_AFTER_MS).unref();
    process.once('exit', writeOnce);
  }
  const require = Module.createRequire(filename);
  return script
    .runInThisContext()
    .call(this.exports, this.exports, require, this, filename, dirname(filename));
};
