/** The real service and a driver for it, started once for a test file and stopped after it: `const test = withService(…)`. */
import { test as base } from 'vitest';
import { createDriver, type Driver } from './driver.ts';
import { type Service, type ServiceOptions, startService } from './stack.ts';

export function withService(options: ServiceOptions = {}) {
  return base.extend<{ service: Service; driver: Driver }>({
    service: [
      // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures are needed.
      async ({}, use) => {
        const service = await startService(options);
        await use(service);
        await service.stop();
      },
      { scope: 'file' },
    ],
    driver: [
      async ({ service }, use) => {
        const driver = await createDriver(service.config);
        await use(driver);
        await driver.close();
      },
      { scope: 'file' },
    ],
  });
}
