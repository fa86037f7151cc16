/**
 * npm run test:faults -- --minutes 30 --seed 1 [--cluster] [--secure]: injects random faults into a running service under random
 * load, then waits until all jobs have ended and compares the state with the oracle. The seed determines the requests and the order
 * of faults; the exact moment of each fault depends on the machine.
 */
import { cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import { createJobInspection } from '../../../deploy/cli/admin/inspect-jobs.ts';
import { startFaultyProxy } from '../../sources/faulty-proxy.ts';
import { keepEvidence } from '../support/evidence.ts';
import { watchOrder } from '../support/order.ts';
import { createRandom } from '../support/random.ts';
import { runCommand } from '../support/run-command.ts';
import { startOwnServers } from '../support/servers.ts';
import { type FaultService, startFaultService } from '../support/service.ts';
import { type Violations, violationsOf } from '../support/settle.ts';
import { clusterFaults } from './cluster-faults.ts';
import { processFaults } from './process-faults.ts';
import { type NamedFault, pickFault, type Scene } from './scene.ts';
import { serverFaults } from './server-faults.ts';
import { createTimeline, type Timeline } from './timeline.ts';

const TELL_MS = 15_000;
const OPERATOR_MS = 10_000;
const MAX_AT_ONCE = 2;
const RECOVERY_MS = 60_000;
/** Timeout of waits: long enough for several runs side by side on a small machine. Correctness never depends on it. */
const PATIENCE_MS = 15 * 60_000;

interface Options {
  minutes: number;
  seed: number;
  /** Three brokers and three replica set members, of which one at a time fails. */
  cluster: boolean;
  /** With TLS and logins. */
  secure: boolean;
}

const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('expected a number');
  return value;
};

const rowsOf = ({ lanes }: FaultService) => lanes.reduce((sum, { rows }) => sum + rows, 0);
const requestsOf = ({ lanes }: FaultService) => lanes.reduce((sum, { asked }) => sum + asked.length, 0);

/** Restarts processes that exited on their own, like a supervisor. */
function supervise({ service, busy, counts, note }: Scene): () => void {
  const timer = setInterval(() => {
    for (const managed of [...service.apis, ...service.pipelines]) {
      if (managed.running || busy.has(managed.url)) continue;
      counts.endedThemselves++;
      note('ended by itself', { part: managed.part, log: managed.log });
      managed.start();
    }
  }, 500);
  return () => clearInterval(timer);
}

/** Retries stopped jobs, like an operator: random kills may hit the merge of one job three times. */
function operate({ service: { driver }, counts, note }: Scene): () => void {
  const inspection = createJobInspection(driver.stores, driver.config);
  const retryStopped = async () => {
    for (const { _id } of await driver.jobs.find({ stoppedAt: { $exists: true } }).toArray()) {
      await inspection.resume(_id, 'retry');
      counts.retried++;
      note('stopped job retried', { job: _id });
    }
  };
  const timer = setInterval(() => retryStopped().catch(() => {}), OPERATOR_MS);
  return () => clearInterval(timer);
}

/** Waits until a job ends: faults that come faster than the service recovers would mostly hit a service that stands still. */
async function progress({ driver }: FaultService, isOver: () => boolean): Promise<void> {
  const ended = () => driver.jobs.countDocuments({ phase: 'ended' }).catch(() => 0);
  const before = await ended();
  const until = performance.now() + RECOVERY_MS;
  while (!isOver() && performance.now() < until && (await ended()) <= before) await sleep(200);
}

async function torment(
  scene: Scene,
  faults: readonly NamedFault[],
  timeline: Timeline,
  isOver: () => boolean,
): Promise<void> {
  const { service, random, counts } = scene;
  const inFlight = new Set<Promise<void>>();
  let toldAt = performance.now();
  while (!isOver()) {
    const fault = pickFault(random, faults);
    timeline.note('fault', { name: fault.name });
    const work = fault
      .run(scene)
      .catch((error: Error) => timeline.tell(`the fault itself failed: ${fault.name}: ${error.message}`))
      .finally(() => inFlight.delete(work));
    inFlight.add(work);
    await Promise.all([
      sleep(500 + random.below(5_000)),
      inFlight.size >= MAX_AT_ONCE && Promise.race(inFlight),
    ]);
    if (random.chance(0.75)) await progress(service, isOver);
    if (performance.now() - toldAt < TELL_MS) continue;
    toldAt = performance.now();
    const open = await service.unfinished();
    timeline.tell(
      `${counts.kills} kills, ${counts.freezes} freezes, ${requestsOf(service)} requests, ${open} jobs open, ${rowsOf(service).toLocaleString('en')} rows`,
    );
  }
  await Promise.all(inFlight);
}

/** Injects faults under load for the given time, waits until all jobs have ended, and returns the violated guarantees. */
async function tormentAndCompare(
  scene: Scene,
  timeline: Timeline,
  { minutes, cluster }: Options,
): Promise<Violations> {
  const { service, proxy, counts } = scene;
  const violations: Violations = [];
  const order = watchOrder(service.driver);
  const release = supervise(scene);
  const endOperation = operate(scene);
  const load = service.load({ size: 'mixed', pauseMs: 150, mostOpen: 40 });
  const until = performance.now() + minutes * 60_000;
  const faults = [...processFaults, ...(cluster ? clusterFaults : serverFaults)];
  await torment(scene, faults, timeline, () => performance.now() > until || load.failed());
  timeline.tell('no more faults; waiting until all is quiet');
  proxy.faults.length = 0;
  await load.stop().catch((error: Error) => violations.push(error.message));
  violations.push(...(await violationsOf(service.driver, service.lanes)), ...(await order.stop()));
  release();
  endOperation();
  const jobs = await service.driver.jobs.countDocuments({ phase: 'ended' });
  const withdrawn = await service.driver.jobs.countDocuments({ phase: 'withdrawn' });
  timeline.tell(
    `${counts.kills} kills, ${counts.freezes} freezes, ${counts.stops} stops, ${counts.elections} elections, ${counts.storage} storage faults, ${counts.endedThemselves} processes ended by themselves, ${counts.retried} stopped jobs retried`,
  );
  timeline.tell(
    `${requestsOf(service)} requests (${service.counts.unanswered} attempts unanswered, ${service.counts.repeated} repeated), ` +
      `${jobs} jobs ended, ${withdrawn} withdrawn, ${rowsOf(service).toLocaleString('en')} rows`,
  );
  return violations;
}

/** Starts a service on its own servers, injects faults, and keeps evidence if a guarantee is violated. */
async function runOn(
  options: Options,
  directory: string,
  timeline: Timeline,
  atTheEnd: (close: () => Promise<unknown>) => void,
): Promise<Violations> {
  const random = createRandom(options.seed);
  const servers = await startOwnServers({
    ...(options.cluster ? { brokers: 3, members: 3 } : {}),
    secure: options.secure,
  });
  atTheEnd(servers.close);
  const proxy = await startFaultyProxy(servers.addresses.s3.endpoint);
  atTheEnd(proxy.close);
  const service = await startFaultService(servers.addresses, {
    logs: directory,
    random: random.fork(),
    apis: 2,
    pipelines: 2,
    lanes: 3,
    more: { HEADRACE_THREADS: '2', HEADRACE_SINK_MEMORY_MB: '2', HEADRACE_TEST_FILE_WINDOW: '3' },
    processesOnly: {
      HEADRACE_S3_ENDPOINT: proxy.endpoint,
      HEADRACE_PARTNER_S3_ENDPOINT: proxy.endpoint,
      HEADRACE_TEST_S3_IDLE_MS: '2000',
    },
    patienceMs: PATIENCE_MS,
  });
  atTheEnd(service.close);
  const scene: Scene = {
    service,
    servers,
    proxy,
    random: random.fork(),
    busy: new Set(),
    counts: { kills: 0, freezes: 0, stops: 0, elections: 0, storage: 0, endedThemselves: 0, retried: 0 },
    note: timeline.note,
  };
  timeline.tell('the service runs; faults begin');
  const violations = await tormentAndCompare(scene, timeline, options).catch((error: Error) => [
    error.stack ?? String(error),
  ]);
  if (violations.length > 0) {
    const kept = await keepEvidence(service.driver, directory).catch((error: Error) => error.message);
    timeline.tell(`what MongoDB and Kafka hold: ${kept}`);
    cpSync(servers.logs, join(directory, 'servers'), { recursive: true });
  }
  return violations;
}

async function run(options: Options): Promise<number> {
  const { minutes, seed, cluster, secure } = options;
  const kind = `${cluster ? ' --cluster' : ''}${secure ? ' --secure' : ''}`;
  const directory = join(tmpdir(), `headrace-faults-seed-${seed}-${Date.now().toString(36)}`);
  const timeline = createTimeline(directory);
  timeline.tell(`seed ${seed}, ${minutes} minutes${kind}; timeline and logs in ${directory}`);
  const open: (() => Promise<unknown>)[] = [];
  const violations = await runOn(options, directory, timeline, (close) => open.unshift(close)).catch(
    (error: Error) => [error.stack ?? String(error)],
  );
  for (const close of open) await close().catch(() => {});
  for (const violation of violations) timeline.tell(violation);
  timeline.tell(
    violations.length === 0
      ? 'no violation'
      : `${violations.length} violations; again: npm run test:faults -- --minutes ${minutes} --seed ${seed}${kind}`,
  );
  return violations.length === 0 ? 0 : 1;
}

const program = new Command('npm run test:faults --')
  .description(
    'Injects random faults into a service under random load, and compares the final state with the oracle.',
  )
  .option('--minutes <number>', 'how long to inject faults', number, 30)
  .option(
    '--seed <number>',
    'the same seed gives the same load and faults',
    number,
    Math.floor(Math.random() * 2 ** 31),
  )
  .option('--cluster', 'use three brokers and a replica set of three; one of each fails at a time', false)
  .option('--secure', 'with TLS and logins at the brokers and at MongoDB', false);
await runCommand(program, run);
