// Keeps what V8 compiles of a build beside it: starting a process or a thread then costs half the CPU time. Node does this itself from 22 on,
// but not for threads. A cache that does not fit (another Node, other flags) is ignored and written again.
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');
const { threadId } = require('node:worker_threads');

/** By then a service is up. */
const WRITE_AFTER_MS = 3_000;
/** Its command may not exist. */
const USAGE_ERROR = 2;
/** Each command runs another part of the same file. */
const [command] = /^[a-z]+$/.exec(process.argv[2] ?? '') ?? ['none'];
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
    // The next process tries again.
  }
}

const compile = Module.prototype._compile;
Module.prototype._compile = function (content, filename, ...others) {
  if (!filename.startsWith(builds)) return compile.call(this, content, filename, ...others);
  const cache = join(dirname(filename), 'code-cache', `${basename(filename)}.${command}`);
  const cachedData = readIfThere(cache);
  const script = new Script(Module.wrap(content), { filename, cachedData });
  if (!cachedData || script.cachedDataRejected) {
    const early = setTimeout(() => write(script, cache), WRITE_AFTER_MS).unref();
    process.once('exit', (code) => {
      if (code !== USAGE_ERROR && !early._destroyed) write(script, cache);
    });
  }
  const require = Module.createRequire(filename);
  return script
    .runInThisContext()
    .call(this.exports, this.exports, require, this, filename, dirname(filename));
};
