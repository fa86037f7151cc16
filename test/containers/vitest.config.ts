import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/containers/*.test.ts'],
    reporters: ['verbose'],
    // One engine, one image: each file counts what is left in it.
    fileParallelism: false,
    // Only to end what hangs: every wait has an end of its own, and says what did not come.
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
  },
});
