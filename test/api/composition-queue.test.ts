/** A report that nobody can be shown any more is not computed to its end. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createComposeAudience, type Wanted } from '../../api/composition/compose-audience.ts';
import type { Composer } from '../../api/composition/composer.ts';
import { createCompositionReports } from '../../api/composition/reports.ts';
import { createMetrics } from '../../api/metrics.ts';
import { createApiStores } from '../../api/stores.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createRetry } from '../../pipeline/runtime/retry.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import { waitFor } from '../support/wait-for.ts';
import { createScene, devices } from './composition-scene.ts';
import { type Api, AUDIENCE, startApiProcess, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
let audience: number;
beforeAll(async () => {
  api = await startApiProcess();
  partner = await api.partner();
  audience = await createScene(api).audience(partner, { rows: { a: devices(0, 1_000) } });
});
afterAll(() => api?.stop());

const log = createLogger({ logLevel: 'silent' }, 'test');

it('composing ends with the signal, at the slot that it has reached', async () => {
  const cancel = new AbortController();
  const stores = { ...createStores(api.db), sets: createDeviceSets(api.db), retry: createRetry(log) };
  const wanted: Wanted = { audience, generation: 1, loadedBy: audience, others: [] };
  const reached: number[] = [];
  const onProgress = (progress: number) => {
    reached.push(progress);
    if (reached.length === 3) cancel.abort();
  };
  const composing = createComposeAudience(stores)(wanted, onProgress, cancel.signal);
  await expect(composing).rejects.toThrow('aborted');
  expect(reached).toEqual([1 / 16, 2 / 16, 3 / 16]);
});

it('clearing the audience gives up its report, and the next one is computed', async () => {
  const composing: number[] = [];
  const composer: Composer = {
    compose: (wanted, _, signal) => {
      composing.push(wanted.audience);
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
    close: async () => {},
  };
  const stores = createApiStores(api.db);
  const reports = createCompositionReports({ ...stores, composer, log, metrics: createMetrics() });
  const next = await createScene(api).audience(partner, { rows: { a: devices(0, 10) } });
  const scope = { partner: partner.id, customer: null };
  for (const id of [audience, next]) await reports.askAnew((await stores.audiences.find(scope, id))!);
  await waitFor(() => composing.length === 1, { what: 'the first computation' });
  await partner.call('PUT', `${AUDIENCE}/${audience}`);
  await waitFor(() => composing.length === 2, { what: 'the second computation' });
  expect(composing).toEqual([audience, next]);
  expect((await stores.compositions.find(audience)).claim).toBeUndefined();
  await reports.stop();
  expect((await stores.compositions.find(next)).claim).toBeUndefined();
});
