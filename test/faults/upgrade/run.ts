/**
 * npm run test:upgrade -- --from <commit>: replaces an older version of the service under load by this one, process by process, and
 * rolls some of them back in between, so both versions run side by side. The end state is compared with the oracle.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Managed } from '../../support/processes.ts';
import { waitFor } from '../../support/wait-for.ts';
import { createTimeline, type Timeline } from '../random/timeline.ts';
import { watchOrder } from '../support/order.ts';
import { createRandom } from '../support/random.ts';
import { runCommand } from '../support/run-command.ts';
import { startOwnServers } from '../support/servers.ts';
import { type FaultService, startFaultService } from '../support/service.ts';
import { type Violations, violationsOf } from '../support/settle.ts';
import { checkOut, type OlderVersion } from './older-version.ts';

interface Options {
  from: string;
  seed: number;
}

/** Requests answered and jobs ended before the next process is replaced. */
const REQUESTS = 10;
const JOBS = 5;

async function goOn({ driver, lanes }: FaultService): Promise<void> {
  const ended = () => driver.jobs.countDocuments({ phase: 'ended' });
  const answered = () => lanes.reduce((sum, { asked }) => sum + asked.length, 0);
  const [requests, jobs] = [answered() + REQUESTS, (await ended()) + JOBS];
  await waitFor(() => answered() >= requests, { what: `${REQUESTS} more answers` });
  await waitFor(async () => (await ended()) >= jobs, { what: `the end of ${JOBS} more jobs` });
}

async function replaceAll(
  service: FaultService,
  older: OlderVersion,
  { tell }: Timeline,
): Promise<Violations> {
  const violations: Violations = [];
  const all = [...service.apis, ...service.pipelines];
  async function replace(managed: Managed, by: 'older' | 'newer'): Promise<void> {
    const code = await managed.stop();
    if (code !== 0) violations.push(`a process of the ${managed.part} stopped with ${code}: ${managed.log}`);
    managed.start({}, by === 'older' ? [older.program] : undefined);
    await managed.ready();
    tell(`${managed.part} ${all.indexOf(managed)}: ${by}; ${await service.unfinished()} jobs open`);
    await goOn(service);
    for (const { running, part, log } of all)
      if (!running) violations.push(`a process of the ${part} ended by itself: ${log}`);
  }
  const [api, otherApi] = service.apis as [Managed, Managed];
  const [pipeline, otherPipeline] = service.pipelines as [Managed, Managed];
  const load = service.load({ size: 'mixed', pauseMs: 100, mostOpen: 40 });
  await goOn(service);
  for (const managed of [pipeline, api]) await replace(managed, 'newer');
  // Roll back: the older version takes over what the newer one has begun.
  for (const managed of [pipeline, api]) await replace(managed, 'older');
  for (const managed of [api, pipeline, otherApi, otherPipeline]) await replace(managed, 'newer');
  await load.stop();
  return violations;
}

async function run({ from, seed }: Options): Promise<number> {
  const directory = join(tmpdir(), `headrace-upgrade-${Date.now().toString(36)}`);
  const timeline = createTimeline(directory);
  const open: (() => unknown)[] = [];
  const work = async (): Promise<Violations> => {
    const older = await checkOut(from);
    open.unshift(older.remove);
    timeline.tell(`from ${older.commit}, seed ${seed}; logs in ${directory}`);
    const random = createRandom(seed);
    const servers = await startOwnServers();
    open.unshift(servers.close);
    const program = [older.program];
    const size = { apis: 2, pipelines: 2, lanes: 3 };
    const service = await startFaultService(servers.addresses, { logs: directory, random, program, ...size });
    open.unshift(service.close);
    const order = watchOrder(service.driver);
    const violations = await replaceAll(service, older, timeline);
    violations.push(...(await violationsOf(service.driver, service.lanes)), ...(await order.stop()));
    const jobs = await service.driver.jobs.countDocuments({ phase: 'ended' });
    timeline.tell(`${jobs} jobs ended, ${service.counts.unanswered} attempts unanswered`);
    return violations;
  };
  const violations = await work().catch((error: Error) => [error.stack ?? String(error)]);
  for (const close of open) await close();
  for (const violation of violations) timeline.tell(violation);
  timeline.tell(violations.length === 0 ? 'no violation' : `${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

const program = new Command('npm run test:upgrade --')
  .description('Replaces an older version of the service by this one, process by process and under load.')
  .requiredOption('--from <commit>', 'the older version')
  .option(
    '--seed <number>',
    'the same seed gives the same load',
    Number,
    Math.floor(Math.random() * 2 ** 31),
  );
await runCommand(program, run);
