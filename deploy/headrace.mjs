#!/usr/bin/env node
// The `headrace` command: plain JavaScript that compiles the TypeScript sources if they have changed, and runs the result.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';

// Silences the AWS SDK's warning that it will need Node 22 in 2027; package.json pins a version that does not.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

async function built() {
  try {
    return await ensureBuilt();
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stderr.write('headrace: dependencies are not installed: run npm ci\n');
    process.exit(1);
  }
}
const require = createRequire(import.meta.url);
const codeCache = require.resolve('./code-cache.cjs');
// Threads take their arguments from here.
process.execArgv.push('--require', codeCache);
require(codeCache);
require(join(await built(), 'headrace.cjs'));
