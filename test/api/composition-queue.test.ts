/**
 * Which reports are computed, in which order, and when a computation is given up: partners take turns, and a report that no one may
 * see is dropped.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMetrics } from '../../api/http/metrics.ts';
import {
  type Composed,
  createComposeAudience,
  type Wanted,
} from '../../api/resources/composition/compose-audience.ts';
import type { Composer } from '../../api/resources/composition/composer.ts';
import { createCompositionReports } from '../../api/resources/composition/reports.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import { createRetry } from '../../pipeline/engine/retry.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { createTimeSharing, type TimeSharing } from '../../pipeline/runtime/time-sharing.ts';
import { createDeviceSets } from '../../pipeline/sets/device-sets.ts';
import { createStores } from '../../pipeline/stores/stores.ts';
import type { AudienceDocument } from '../../schemas/documents.ts';
import { waitFor } from '../support/wait-for.ts';
import { createScene, devices } from './composition-scene.ts';
import { type Api, AUDIENCE, startApiOnOwnData, type TestPartner } from './support.ts';

let api: Api;
let partner: TestPartner;
let audience: number;
beforeAll(async () => {
  api = await startApiOnOwnData();
  partner = await api.partner();
  audience = await createScene(api).audience(partner, { rows: { a: devices(0, 1_000) } });
});
afterAll(() => api?.stop());

const nothing = {
  devices: 0,
  matched: 0,
  marketplaceDevices: 0,
  rowParts: 0,
  others: new Uint8Array(),
  events: [],
} satisfies Composed;
const log = createLogger({ logLevel: 'silent' }, 'test');

it('composing ends with the signal, at the slot that it has reached', async () => {
  const cancel = new AbortController();
  const stores = {
    ...createStores(api.db),
    sets: createDeviceSets(api.db),
    retry: createRetry(log),
    sharing: createTimeSharing(),
  };
  const wanted: Wanted = {
    token: 'token',
    partner: partner.id,
    audience,
    generation: 1,
    loadedBy: audience,
    others: [],
  };
  const reached: number[] = [];
  const onProgress = (progress: number) => {
    reached.push(progress);
    if (reached.length === 3) cancel.abort();
  };
  const composing = createComposeAudience(stores)(wanted, onProgress, cancel.signal);
  await expect(composing).rejects.toThrow('aborted');
  expect(reached).toEqual([1 / 16, 2 / 16, 3 / 16]);
});

/** Finishes a report when the test says so. */
function createManualComposer() {
  const begun: { audience: number; end(): void }[] = [];
  const composer: Composer = {
    compose: ({ audience: id }, _, signal) =>
      new Promise((resolve, reject) => {
        begun.push({ audience: id, end: () => resolve(nothing) });
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    close: async () => {},
  };
  return { begun, composer };
}

it('behind 25 reports of a partner, that of another is composed at once; customers take turns, too', async () => {
  const { begun, composer } = createManualComposer();
  const stores = createApiStores(api.db);
  const reports = createCompositionReports({ ...stores, composer, log, metrics: createMetrics() });
  const ids = new Map<string, number>();
  const ask = async (owner: string, name: string, customer: string | null = null) => {
    const _id = 1_000_000 + ids.size;
    ids.set(name, _id);
    const audience = { _id, partner: owner, generation: 1, uniqueDevices: 1 } as AudienceDocument;
    await api.audiences.insertOne({ ...audience, segment: _id });
    await reports.askAnew(audience, customer);
  };
  const namesBegun = () => {
    const names = new Map([...ids].map(([name, id]) => [id, name]));
    return begun.map(({ audience: id }) => names.get(id));
  };
  const hasBegun = (count: number) => waitFor(() => begun.length >= count, { what: `${count} computations` });
  for (let i = 0; i < 8; i++) await ask('p-greedy', `red ${i}`, 'red');
  for (let i = 0; i < 17; i++) await ask('p-greedy', `greedy ${i}`);
  await ask('p-greedy', 'blue', 'blue');
  await hasBegun(1);
  await ask('p-modest', 'modest');
  await hasBegun(2);
  expect(namesBegun()).toEqual(['red 0', 'modest']);
  for (let ended = 0; ended < 4; ended++) {
    begun[ended]!.end();
    if (ended !== 1) await hasBegun(begun.length + 1);
  }
  expect(namesBegun().slice(2)).toEqual(['greedy 0', 'blue', 'red 1']);
  await reports.stop();
});

it('an audience is compared with the largest thousand others, those of its customer first', async () => {
  const wanted: Wanted[] = [];
  const composer: Composer = {
    compose: async (one) => {
      wanted.push(one);
      return nothing;
    },
    close: async () => {},
  };
  const stores = createApiStores(api.db);
  const reports = createCompositionReports({ ...stores, composer, log, metrics: createMetrics() });
  const audiences = api.audiences;
  const owner = { partner: 'p-many', generation: 1 };
  const documents = Array.from({ length: 1_102 }, (_, i) => {
    const _id = 3_000_000 + i;
    // The audiences of the customer "red" are the smallest.
    return { ...owner, _id, segment: _id, customer: i < 101 ? 'red' : null, uniqueDevices: i + 1 };
  });
  await audiences.insertMany(documents as AudienceDocument[]);
  const composedOf = async (at: number) => {
    const audience = documents[at] as AudienceDocument;
    await reports.askAnew(audience, null);
    const report = () => stores.compositions.find(audience._id).then((found) => found.report);
    const { token } = await waitFor(report, { what: 'the report' });
    const { compared } = (await stores.compositions.report(audience._id, token))!;
    return { compared, others: wanted.at(-1)!.others.map((other) => other.audience - 3_000_000) };
  };
  const range = (from: number, to: number) => Array.from({ length: from - to }, (_, i) => from - 1 - i);
  expect(await composedOf(1_101)).toEqual({
    compared: { ofCustomer: false, ofPartner: false },
    others: range(1_101, 101),
  });
  expect(await composedOf(0)).toEqual({
    compared: { ofCustomer: true, ofPartner: false },
    others: [...range(101, 1), ...range(1_102, 202)],
  });
  await reports.stop();
});

it('composing beside 25 reports of another partner takes twice as many steps at most', async () => {
  let steps = 0;
  const sharing = createTimeSharing({ now: () => steps, overdueMs: 600_000 });
  const counting: TimeSharing = {
    async join() {
      const share = await sharing.join();
      const pause = () => {
        steps++;
        return share.pause();
      };
      return { ...share, pause };
    },
  };
  const stores = { ...createStores(api.db), sets: createDeviceSets(api.db), retry: createRetry(log) };
  const compose = createComposeAudience({ ...stores, sharing: counting });
  const run = async (token: string) => {
    const begun = steps;
    const wanted = { token, partner: partner.id, audience, generation: 1, loadedBy: audience, others: [] };
    expect(await compose(wanted, () => {}, new AbortController().signal)).toMatchObject({ devices: 1_000 });
    return steps - begun;
  };
  const alone = await run('alone');
  let isDone = false;
  const others = (async () => {
    for (let i = 0; i < 25 && !isDone; i++) await run(`other ${i}`);
  })();
  const beside = await run('beside');
  isDone = true;
  expect(alone).toBeGreaterThanOrEqual(16);
  expect(beside).toBeLessThanOrEqual(2 * alone + 2);
  await others;
});

it('clearing the audience gives up its report, and the next one is computed', async () => {
  const { begun, composer } = createManualComposer();
  const stores = createApiStores(api.db);
  const reports = createCompositionReports({ ...stores, composer, log, metrics: createMetrics() });
  const next = await createScene(api).audience(partner, { rows: { a: devices(0, 10) } });
  const scope = { partner: partner.id, customer: null };
  for (const id of [audience, next]) await reports.askAnew((await stores.audiences.find(scope, id))!, null);
  await waitFor(() => begun.length === 1, { what: 'the first computation' });
  await partner.call('PUT', `${AUDIENCE}/${audience}`);
  await waitFor(() => begun.length === 2, { what: 'the second computation' });
  expect(begun.map((one) => one.audience)).toEqual([audience, next]);
  expect((await stores.compositions.find(audience)).claim).toBeUndefined();
  await reports.stop();
  expect((await stores.compositions.find(next)).claim).toBeUndefined();
});
