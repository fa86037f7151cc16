#!/usr/bin/env node
// The command `headrace`: plain JavaScript only as far as it takes to run TypeScript.
try {
  const { register } = await import('tsx/esm/api');
  register();
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  process.stderr.write('headrace: the dependencies are not installed: run npm ci\n');
  process.exit(1);
}
await import('./headrace.ts');
