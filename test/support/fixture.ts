/** The real service and a driver as a fixture: `const test = withSharedService()`, or `withService(…)` for own processes. */
import { afterAll, test as base } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../sources/faulty-proxy.ts';
import { createDriver, type Driver } from './driver.ts';
import {
  type OwnService,
  type Service,
  type ServiceOptions,
  type SharedName,
  servers,
  sharedService,
  startService,
} from './stack.ts';

async function withDriver({ config }: Service, use: (driver: Driver) => Promise<void>): Promise<void> {
  const driver = await createDriver(config);
  await use(driver);
  await driver.close();
}

/** For tests that neither kill processes nor change their settings. */
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

/** The same without a test context: `const { driver } = await useSharedService()` at the top of a file. */
export async function useSharedService(
  name: SharedName = 'live',
): Promise<{ service: Service; driver: Driver }> {
  const service = await sharedService(name);
  const driver = await createDriver(service.config);
  afterAll(() => driver.close());
  return { service, driver };
}

export async function useService(
  options: ServiceOptions = {},
): Promise<{ service: OwnService; driver: Driver }> {
  const service = await startService(options);
  afterAll(() => service.stop());
  const driver = await createDriver(service.config);
  afterAll(() => driver.close());
  return { service, driver };
}

/** A service whose storage is behind a proxy that fails on demand. */
export async function useServiceBehindProxy(
  options: ServiceOptions = {},
): Promise<{ service: OwnService; driver: Driver; proxy: FaultyProxy }> {
  const proxy = await startFaultyProxy(servers().s3.endpoint);
  afterAll(() => proxy.close());
  const env = {
    HEADRACE_S3_ENDPOINT: proxy.endpoint,
    HEADRACE_TEST_S3_IDLE_MS: '3000',
    HEADRACE_STORAGE_DEADLINE_MS: '3600000',
    ...options.env,
  };
  return { ...(await useService({ ...options, env })), proxy };
}
