/** The set-up that fault tests share: servers, the service on them, the watch over the order of ends, and how all of it ends. */
import { afterAll, beforeAll, expect } from 'vitest';
import { servers as sharedServers } from '../../support/stack.ts';
import { newLogFolder } from './logs.ts';
import { type OrderWatch, watchOrder } from './order.ts';
import type { Random } from './random.ts';
import { type OwnServers, type OwnServersOptions, startOwnServers } from './servers.ts';
import { type FaultService, type ServiceOptions, startFaultService } from './service.ts';
import { type Limits, violationsOf } from './settle.ts';

export interface FaultFixture {
  readonly service: FaultService;
  /** Those of this test alone. */
  readonly servers: OwnServers;
  /** Waits until every job has ended; all that was asked for is as the oracle says, and no job ended before an earlier one. */
  expectExact(limits?: Limits): Promise<void>;
  /** No process of ours ended by itself. */
  expectAllRunning(): void;
}

interface FixtureOptions extends Partial<ServiceOptions> {
  /** Servers that this test may harm; without, the service is on those that all tests share. */
  own?: OwnServersOptions;
  /** These of them; the others are the shared ones. */
  kinds?: NonNullable<OwnServersOptions['shared']>['own'];
}

/** Nine processes may start here, on a machine that runs other tests. */
const START_MS = 300_000;

export function setUpFaults(random: Random, { own, kinds, ...options }: FixtureOptions = {}): FaultFixture {
  let servers: OwnServers | undefined;
  let service: FaultService | undefined;
  let order: OrderWatch | undefined;
  beforeAll(async () => {
    const shared = kinds && { addresses: sharedServers(), own: kinds };
    if (own) servers = await startOwnServers({ ...own, shared });
    service = await startFaultService(servers?.addresses ?? sharedServers(), {
      logs: servers?.logs ?? newLogFolder(),
      random: random.fork(),
      ...options,
    });
    order = watchOrder(service.driver);
  }, START_MS);
  afterAll(async () => {
    await order?.stop();
    await service?.close();
    await servers?.close();
  });
  const all = () => [...service!.apis, ...service!.pipelines];
  return {
    get service() {
      return service!;
    },
    get servers() {
      return servers!;
    },
    async expectExact(limits = {}) {
      expect(await violationsOf(service!.driver, service!.lanes, { swept: false, ...limits })).toEqual([]);
      expect(order!.seen()).toEqual([]);
    },
    expectAllRunning() {
      expect(all().filter(({ running }) => !running)).toEqual([]);
    },
  };
}
