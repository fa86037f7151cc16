/** `headrace status` */
import type { Command } from 'commander';
import { mongoHosts } from '../../../../pipeline/runtime/errors.ts';
import { type Paint, paint, printJson, printLines, table } from '../../../../pipeline/runtime/terminal.ts';
import { isUp, whereIsLog } from '../../../local/docker.ts';
import { kindOf, type ProcessName, processesOf } from '../../../local/names.ts';
import { describeServer } from '../../../local/servers.ts';
import {
  apiUrl,
  consoleUrl,
  docsUrl,
  pipelineUrl,
  registryUrl,
  serviceProcess,
} from '../../../local/service.ts';
import { clusterOf, readState, type StateFolder } from '../../../local/state.ts';
import type { Startable } from '../../../local/supervise.ts';
import { poll } from '../../../local/wait.ts';
import { stateOption } from '../options.ts';

interface ProcessStatus {
  /** A server named by the environment: not started by us and not checked. */
  readonly elsewhere: boolean;
  readonly pid: number | null;
  readonly running: boolean;
  readonly healthy: boolean;
  readonly address: string;
  /** The file, or for a container the command that prints it. */
  readonly log: string;
}

function probe(name: ProcessName): Pick<Startable, 'answers'> {
  return name === 'api' || name === 'pipeline' ? serviceProcess(name, {}) : describeServer(name);
}

/** Polls for a moment, because the members of a cluster do not respond while they elect a leader. */
async function answersSoon(folder: StateFolder, name: ProcessName): Promise<boolean> {
  return (await poll(() => probe(name).answers(folder), { deadlineMs: 3_000 })) ?? false;
}

/** The address of the process, or of a server named by the environment. */
function whereIs(folder: StateFolder, name: ProcessName): { address: string; elsewhere: boolean } {
  if (name === 'api') return { address: apiUrl(folder), elsewhere: false };
  if (name === 'pipeline') return { address: pipelineUrl(folder), elsewhere: false };
  const { addresses, ports } = folder.state;
  const ours = `127.0.0.1:${ports[name]}`;
  const kind = kindOf(name);
  const configured = {
    kafka: addresses?.kafkaBrokers.join(','),
    // Only the hosts: the URL may have a password.
    mongod: addresses && mongoHosts(addresses.mongoUrl),
    s3: addresses && (addresses.s3.endpoint || 'AWS'),
  }[kind];
  if (configured !== undefined && !configured.includes(ours)) return { address: configured, elsewhere: true };
  return {
    address: { kafka: ours, mongod: `mongodb://${ours}`, s3: `http://${ours}` }[kind],
    elsewhere: false,
  };
}

async function statusOf(
  folder: StateFolder,
  name: ProcessName,
  isKnownHealthy = false,
): Promise<ProcessStatus> {
  const known = folder.state.processes[name];
  const running = known !== undefined && (await isUp(folder, name));
  return {
    ...whereIs(folder, name),
    pid: running ? known.pid : null,
    running,
    healthy: running && (isKnownHealthy || (await answersSoon(folder, name))),
    log: whereIsLog(folder, name),
  };
}

type Entry = readonly [ProcessName, ProcessStatus];

function word({ elsewhere, running, healthy }: ProcessStatus, { green, red, dim }: Paint): string {
  if (healthy) return green('healthy');
  if (running) return red('not responding');
  return elsewhere ? dim('external') : red('not running');
}

function lines(folder: StateFolder, entries: readonly Entry[], colours: Paint): string[] {
  const rows = entries.map(([name, status]) => [
    name,
    word(status, colours),
    status.pid === null ? '' : `pid ${status.pid}`,
    status.running || status.elsewhere ? status.address : '',
    colours.dim(status.log),
  ]);
  const isUp = entries.some(([name, { healthy }]) => name === 'api' && healthy);
  const pages = isUp ? ['', `console ${consoleUrl(folder)}   reference ${docsUrl(folder)}`] : [];
  return [...table(rows), ...pages];
}

async function status({ state, json }: { state: string; json?: boolean }): Promise<void> {
  const folder = readState(state);
  if (folder === undefined) {
    process.exitCode = 1;
    if (json) return printJson(process.stdout, { state: null, processes: {} });
    return printLines(process.stdout, [`no stack has been started in ${state}`]);
  }
  const cluster = clusterOf(folder.state);
  const isCluster = cluster.brokers + cluster.members > 2;
  const api = await statusOf(folder, 'api');
  // A ready API reaches Kafka and MongoDB: if there is one server of each, skip loading their drivers.
  const isKnownHealthy = (name: ProcessName) =>
    api.healthy && !isCluster && (name === 'kafka' || name === 'mongod');
  const entries = await Promise.all(
    processesOf(cluster).map(
      async (name) =>
        [name, name === 'api' ? api : await statusOf(folder, name, isKnownHealthy(name))] as const,
    ),
  );
  const described = {
    state: folder.directory,
    api_url: apiUrl(folder),
    console_url: consoleUrl(folder),
    docs_url: docsUrl(folder),
    registry_url: registryUrl(folder),
    processes: Object.fromEntries(entries),
  };
  if (json) await printJson(process.stdout, described);
  else await printLines(process.stdout, lines(folder, entries, paint(process.stdout)));
  process.exitCode = entries.every(([, { healthy, elsewhere }]) => healthy || elsewhere) ? 0 : 1;
}

export function register(program: Command): void {
  program
    .command('status')
    .description('show each process and its health; exits with 1 unless all are healthy')
    .option(...stateOption)
    .option('--json', 'print a JSON object')
    .action(status);
}
