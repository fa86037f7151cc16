/** The API of a test file, from its first test to its last. */
import { afterAll, beforeAll } from 'vitest';
import type { Service } from '../support/stack.ts';
import { type Api, sharedApi, type TestPartner } from './support.ts';

/** Filled in before the first test. */
export function useApi<S extends Service = Service>(
  start: () => Promise<Api<S>> = sharedApi as () => Promise<Api<S>>,
): Api<S> {
  const api = {} as Api<S>;
  beforeAll(async () => void Object.assign(api, await start()));
  afterAll(() => api.stop?.());
  return api;
}

/** Filled in before the first test. */
export function usePartner(api: Api): TestPartner {
  const partner = {} as TestPartner;
  beforeAll(async () => void Object.assign(partner, await api.partner()));
  return partner;
}
