import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    include: ['test/containers/*.test.ts'],
    reporters: ['verbose'],
    // One engine, one image: each file counts the leftovers in it.
    fileParallelism: false,
    // Only a backstop for hangs: every wait has its own timeout and says what did not come.
    testTimeout: 1_800_000,
    hookTimeout: 1_800_000,
  },
});
