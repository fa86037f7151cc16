/** The fixture of fault tests: servers, the service on them, the watch of the order of ends, and the teardown. */
import { afterAll, beforeAll, expect } from 'vitest';
import type { Managed } from '../../support/processes.ts';
import { dropData } from '../../support/settings.ts';
import { servers as sharedServers } from '../../support/stack.ts';
import { timed } from '../../support/timed.ts';
import { expelAll } from './expel.ts';
import type { Lane } from './lane.ts';
import { newLogFolder } from './logs.ts';
import { type OrderWatch, watchOrder } from './order.ts';
import type { Random } from './random.ts';
import { type OwnServers, type OwnServersOptions, startOwnServers } from './servers.ts';
import { type FaultService, type ServiceOptions, startFaultService } from './service.ts';
import { type Limits, violationsOf } from './settle.ts';

export interface FaultFixture {
  readonly service: FaultService;
  /** This test's own servers. */
  readonly servers: OwnServers;
  /** The first pipeline and the first lane, if the test has any. */
  readonly pipeline: Managed;
  readonly lane: Lane;
  /** Kills the pipeline and removes it from its groups without a wait for the session timeout. */
  killPipeline(): Promise<void>;
  /** Waits until every job has ended and expects the oracle's state, with each partner's jobs ended in order. */
  expectExact(limits?: Limits): Promise<void>;
  /** Expects that no process exited on its own. */
  expectAllRunning(): void;
}

interface FixtureOptions extends Partial<ServiceOptions> {
  /** Servers that the test may harm, from setUpServers. Default: the shared servers. */
  on?: () => OwnServers;
}

/** Servers that the tests of a file may harm. `kinds`: only these are their own, the others are shared. */
export function setUpServers(
  own: OwnServersOptions = {},
  kinds?: NonNullable<OwnServersOptions['shared']>['own'],
): () => OwnServers {
  let servers: OwnServers | undefined;
  beforeAll(async () => {
    const shared = kinds && { addresses: sharedServers(), own: kinds };
    servers = await timed('start', () => startOwnServers({ ...own, shared }));
  });
  afterAll(() => timed('stop', async () => servers?.close()));
  return () => servers!;
}

export function setUpFaults(random: Random, { on, ...options }: FixtureOptions = {}): FaultFixture {
  let service: FaultService | undefined;
  let order: OrderWatch | undefined;
  beforeAll(async () => {
    service = await timed('start', () =>
      startFaultService(on?.().addresses ?? sharedServers(), {
        logs: newLogFolder(),
        random: random.fork(),
        ...options,
      }),
    );
    order = watchOrder(service.driver);
  });
  afterAll(async () => {
    await order?.stop();
    await service?.close();
    if (service && !on) await timed('stop', () => dropData(service!.settings));
  });
  const all = () => [...service!.apis, ...service!.pipelines];
  return {
    get service() {
      return service!;
    },
    get servers() {
      return on!();
    },
    get pipeline() {
      return service!.pipelines[0]!;
    },
    get lane() {
      return service!.lanes[0]!;
    },
    async killPipeline() {
      await service!.pipelines[0]!.kill();
      await expelAll(service!.driver.config);
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
