/**
 * npm run test:faults -- --minutes 30 --seed 1: random faults over a running service under random load. Stops by itself, waits until
 * all is quiet, and holds everything against the oracle. The seed decides what is asked for and which faults come in which order;
 * when exactly each of them strikes is the machine's doing.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { startFaultyProxy } from '../../sources/faulty-proxy.ts';
import { watchOrder } from '../support/order.ts';
import { createRandom } from '../support/random.ts';
import { startOwnServers } from '../support/servers.ts';
import { type FaultService, startFaultService } from '../support/service.ts';
import { type Violations, violationsOf } from '../support/settle.ts';
import { pickFault, type Scene } from './faults.ts';
import { createTimeline, type Timeline } from './timeline.ts';

const TELL_MS = 15_000;
const MOST_AT_ONCE = 2;

interface Options {
  minutes: number;
  seed: number;
}

const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('expected a number');
  return value;
};

const rowsOf = ({ lanes }: FaultService) => lanes.reduce((sum, { rows }) => sum + rows, 0);
const jobsOf = ({ lanes }: FaultService) => lanes.reduce((sum, { asked }) => sum + asked.length, 0);

/** Whoever ended by itself is started again, as any supervisor would. */
function supervise({ service, busy, note }: Scene): () => void {
  const timer = setInterval(() => {
    for (const one of [...service.apis, ...service.pipelines]) {
      if (one.running || busy.has(one.url)) continue;
      note('ended by itself', { part: one.part, log: one.log });
      one.start();
    }
  }, 500);
  return () => clearInterval(timer);
}

async function torment(scene: Scene, timeline: Timeline, isOver: () => boolean): Promise<void> {
  const { service, random, counts } = scene;
  const underWay = new Set<Promise<void>>();
  let told = performance.now();
  while (!isOver()) {
    const fault = pickFault(random);
    timeline.note('fault', { name: fault.name });
    const work = fault.run(scene).finally(() => underWay.delete(work));
    underWay.add(work);
    await Promise.all([
      sleep(500 + random.below(5_000)),
      underWay.size >= MOST_AT_ONCE && Promise.race(underWay),
    ]);
    if (performance.now() - told < TELL_MS) continue;
    told = performance.now();
    timeline.tell(
      `${counts.kills} kills, ${counts.freezes} freezes, ${jobsOf(service)} requests, ${rowsOf(service).toLocaleString('en')} rows`,
    );
  }
  await Promise.all(underWay);
}

async function run({ minutes, seed }: Options): Promise<number> {
  const directory = join(tmpdir(), `headrace-faults-seed-${seed}-${Date.now().toString(36)}`);
  const timeline = createTimeline(directory);
  const again = `npm run test:faults -- --minutes ${minutes} --seed ${seed}`;
  timeline.tell(`seed ${seed}, ${minutes} minutes; timeline and logs in ${directory}`);
  const random = createRandom(seed);
  const servers = await startOwnServers();
  const proxy = await startFaultyProxy(servers.addresses.s3.endpoint);
  const service = await startFaultService(servers.addresses, {
    logs: directory,
    random: random.fork(),
    apis: 2,
    pipelines: 2,
    lanes: 3,
    more: { HEADRACE_SINK_MEMORY_MB: '2', HEADRACE_FILE_WINDOW: '3' },
    processesOnly: { HEADRACE_S3_ENDPOINT: proxy.endpoint, HEADRACE_S3_IDLE_MS: '2000' },
  });
  const counts = { kills: 0, freezes: 0, stops: 0, storage: 0 };
  const scene: Scene = {
    service,
    servers,
    proxy,
    random: random.fork(),
    busy: new Set(),
    counts,
    note: timeline.note,
  };
  let violations: Violations = [];
  try {
    const order = watchOrder(service.driver);
    const release = supervise(scene);
    const load = service.load({ size: 'mixed', pauseMs: 150, mostOpen: 40 });
    const until = performance.now() + minutes * 60_000;
    await torment(scene, timeline, () => performance.now() > until || load.failed());
    timeline.tell('no more faults; waiting until all is quiet');
    proxy.faults.length = 0;
    await load.stop().catch((error: Error) => violations.push(error.message));
    violations.push(...(await violationsOf(service.driver, service.lanes, { deadlineMs: 240_000 })));
    violations.push(...(await order.stop()));
    release();
    const jobs = await service.driver.jobs.countDocuments();
    timeline.tell(
      `${counts.kills} kills, ${counts.freezes} freezes, ${counts.stops} stops, ${counts.storage} storage faults; ` +
        `${jobs} jobs of ${jobsOf(service)} requests (${service.counts.unanswered} attempts unanswered, ${service.counts.repeated} repeated), ` +
        `${rowsOf(service).toLocaleString('en')} rows`,
    );
  } catch (error) {
    violations = [...violations, (error as Error).stack ?? String(error)];
  }
  await service.close().catch(() => {});
  await proxy.close();
  await servers.close();
  for (const violation of violations) timeline.tell(violation);
  timeline.tell(
    violations.length === 0 ? 'no violation' : `${violations.length} violations; again: ${again}`,
  );
  return violations.length === 0 ? 0 : 1;
}

const program = new Command('npm run test:faults --')
  .description('Random faults over a running service under random load, held against the oracle at the end.')
  .option('--minutes <number>', 'how long faults come', number, 30)
  .option('--seed <number>', 'what comes', number, Math.floor(Math.random() * 2 ** 31))
  .showHelpAfterError()
  .action(async (options: Options) => {
    process.exitCode = await run(options);
  });
await program.parseAsync();
process.exit();
