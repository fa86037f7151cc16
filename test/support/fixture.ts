/** The real service and a driver for it, for a test file: `const test = withSharedService()`, or `withService(…)` for processes of its own. */
import { test as base } from 'vitest';
import { createDriver, type Driver } from './driver.ts';
import {
  type OwnService,
  type Service,
  type ServiceOptions,
  type SharedName,
  sharedService,
  startService,
} from './stack.ts';

async function withDriver({ config }: Service, use: (driver: Driver) => Promise<void>): Promise<void> {
  const driver = await createDriver(config);
  await use(driver);
  await driver.close();
}

/** For every test that neither kills processes nor changes their settings. */
export function withSharedService(name: SharedName = 'live') {
  return base.extend<{ service: Service; driver: Driver }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures are needed.
    service: [async ({}, use) => use(await sharedService(name)), { scope: 'file' }],
    driver: [({ service }, use) => withDriver(service, use), { scope: 'file' }],
  });
}

export function withService(options: ServiceOptions = {}) {
  return base.extend<{ service: OwnService; driver: Driver }>({
    service: [
      // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures are needed.
      async ({}, use) => {
        const service = await startService(options);
        await use(service);
        await service.stop();
      },
      { scope: 'file' },
    ],
    driver: [({ service }, use) => withDriver(service, use), { scope: 'file' }],
  });
}
