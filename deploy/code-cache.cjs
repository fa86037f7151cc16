// Keeps what V8 compiles of a build beside it: starting a process or a thread then costs half the CPU time. Node 20 has no such cache. One
// that does not fit (another Node, other flags) is ignored and written again.
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
