/** Clocks an hour apart between processes, and clocks that jump by two hours while jobs run: order and results do not depend on them. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { servers, waitFor } from '../support/stack.ts';
import { type OrderWatch, watchOrder } from './support/order.ts';
import type { Managed } from './support/processes.ts';
import { roundSeed } from './support/random.ts';
import { type FaultService, startFaultService } from './support/service.ts';
import { violationsOf } from './support/settle.ts';

const HOUR = 3_600_000;
const BEFORE_JUMP_MS = 20_000;
const clock = new URL('./support/shifted-clock.mjs', import.meta.url).href;
const random = roundSeed('clock');

let service: FaultService;
/** Times say nothing here, so the order of ends is watched. */
let order: OrderWatch;
let jumpAt: number;
beforeAll(async () => {
  const logs = mkdtempSync(join(inject('scratch'), 'faults-'));
  service = await startFaultService(servers(), { logs, random: random.fork(), apis: 2, pipelines: 2 });
  jumpAt = Date.now() + BEFORE_JUMP_MS;
  const restart = async (one: Managed, shift: number) => {
    await one.stop();
    const clockSettings = { CLOCK_SHIFT_MS: String(shift), CLOCK_JUMP_AT: String(jumpAt) };
    one.start({ NODE_OPTIONS: `--import ${clock}`, ...clockSettings });
    await one.ready();
  };
  const both = [HOUR, -HOUR];
  for (const parts of [service.apis, service.pipelines])
    await Promise.all(parts.map((one, i) => restart(one, both[i]!)));
  order = watchOrder(service.driver);
});
afterAll(async () => {
  await order?.stop();
  await service?.close();
});

it('clocks an hour ahead and an hour behind, then each on the other side: order and results are the same', async () => {
  const load = service.load();
  await service.answered(12);
  await waitFor(() => Date.now() > jumpAt, { what: 'the jump' });
  await service.answered(12);
  await load.stop();
  expect(await violationsOf(service.driver, service.lanes, { swept: false, endsInOrder: false })).toEqual([]);
  expect(await order.stop()).toEqual([]);
});
