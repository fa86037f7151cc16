/** The service under load for fault tests: some processes of each part, some partners, and their requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerAddresses } from '../../../deploy/local/addresses.ts';
import { ensureIndexes } from '../../../pipeline/stores/indexes.ts';
import type { Driver } from '../../support/driver.ts';
import { type Managed, manage, type Part } from '../../support/processes.ts';
import { type Settings, uniqueSettings } from '../../support/settings.ts';
import { connectDriver } from './connect.ts';
import type { RowCount } from './files.ts';
import { createLane, type Lane } from './lane.ts';
import type { Random } from './random.ts';
import { unfinished } from './settle.ts';
import { type RestCounts, submitByDriver, submitByRest } from './submit.ts';

export interface FaultService {
  readonly driver: Driver;
  readonly settings: Settings;
  readonly apis: readonly Managed[];
  readonly pipelines: readonly Managed[];
  readonly lanes: readonly Lane[];
  readonly counts: RestCounts;
  /** Every lane sends one request after the other until stopped. */
  load(options?: LoadOptions): Load;
  /** The number of unfinished jobs. */
  unfinished(): Promise<number>;
  /** Waits until this many more requests have been answered. */
  answered(more: number): Promise<void>;
  close(): Promise<void>;
}

export interface Load {
  /** True once a lane has failed; `stop` throws its error. */
  failed(): boolean;
  stop(): Promise<void>;
}

interface LoadOptions {
  size?: RowCount;
  /** Pause between two requests of a lane. */
  pauseMs?: number;
  /** Lanes wait while more jobs than this are unfinished. */
  mostOpen?: number;
}

export interface ServiceOptions {
  logs: string;
  random: Random;
  more?: Settings;
  /** For the processes only, not for the test's own driver. */
  processesOnly?: Settings;
  /** Settings of each process: n counts the processes of a part. */
  settingsOf?(part: Part, n: number): Settings;
  /** The command of another checkout, which all processes run at first. */
  program?: readonly string[];
  apis?: number;
  pipelines?: number;
  lanes?: number;
  /** A request fails the test if it is refused for longer than this. */
  patienceMs?: number;
}

/**
 * Small batches and regions, so that a small file has many batches and a slot many regions. One thread, so that a pipeline that restarts
 * often starts twice as fast.
 */
export const faultSettings = (addresses: ServerAddresses, more: Settings = {}): Settings =>
  uniqueSettings(addresses, {
    HEADRACE_TEST_BATCH_BYTES: '20000',
    HEADRACE_TEST_REGION_BYTES: '8192',
    HEADRACE_THREADS: '1',
    HEADRACE_RATE_PER_SECOND: '100000',
    HEADRACE_LIMIT_BACKEND_MS: '2500',
    ...more,
  });

export async function startFaultService(
  addresses: ServerAddresses,
  {
    logs,
    random,
    more,
    processesOnly,
    settingsOf = () => ({}),
    program,
    apis: apiCount = 1,
    pipelines: pipelineCount = 1,
    lanes: laneCount = 2,
    patienceMs,
  }: ServiceOptions,
): Promise<FaultService> {
  const settings = faultSettings(addresses, more);
  const driver = await connectDriver(settings);
  await ensureIndexes(driver.db);
  const start = (part: Part, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        manage(part, { ...settings, ...processesOnly, ...settingsOf(part, n) }, { logs }),
      ),
    );
  const apis = await start('api', apiCount);
  const pipelines = await start('pipeline', pipelineCount);
  const counts: RestCounts = { requests: 0, unanswered: 0, repeated: 0 };
  const submit =
    apiCount > 0
      ? submitByRest(driver, () => apis.map(({ url }) => url), counts, patienceMs)
      : submitByDriver(driver);
  const lanes: Lane[] = [];
  for (let i = 0; i < laneCount; i++) lanes.push(await createLane(driver, submit, random.fork()));
  const all = [...apis, ...pipelines];
  for (const managed of all) managed.start({}, program);
  await Promise.all(all.map((one) => one.ready()));
  const asked = () => lanes.reduce((sum, lane) => sum + lane.asked.length, 0);

  /** Unreliable while MongoDB is down, but then no job is accepted either. */
  const openJobs = () => driver.jobs.countDocuments(unfinished).catch(() => 0);

  return {
    driver,
    settings,
    apis,
    pipelines,
    lanes,
    counts,
    unfinished: openJobs,
    load({ size = 'small', pauseMs = 250, mostOpen = 8 } = {}) {
      let stopped = false;
      let failed = false;
      const asking = lanes.map(async (lane) => {
        while (!stopped) {
          await lane.step(size);
          do await sleep(pauseMs);
          while (!stopped && (await openJobs()) > mostOpen);
        }
      });
      const done = Promise.all(asking);
      done.catch(() => {
        failed = true;
      });
      return {
        failed: () => failed,
        async stop() {
          stopped = true;
          await done;
        },
      };
    },
    async answered(wanted) {
      const until = asked() + wanted;
      while (asked() < until) await sleep(20);
    },
    async close() {
      for (const managed of all) managed.signal('SIGCONT');
      await Promise.all(all.map((one) => one.kill()));
      await driver.close();
    },
  };
}
