import { kindOf, type ProcessName, processesOf } from '../local/names.ts';
import { describeServer } from '../local/servers.ts';
import { apiUrl, registryUrl, serviceProcess } from '../local/service.ts';
import { clusterOf, readState, type StateFolder } from '../local/state.ts';
import { runningProcess, type Startable } from '../local/supervise.ts';
import { poll } from '../local/wait.ts';

interface ProcessStatus {
  /** A server whose address comes from the environment: we did not start it and do not check it. */
  readonly elsewhere: boolean;
  readonly pid: number | null;
  readonly running: boolean;
  readonly healthy: boolean;
  readonly log: string;
}

function probe(name: ProcessName): Pick<Startable, 'answers'> {
  return name === 'api' || name === 'pipeline' ? serviceProcess(name, {}) : describeServer(name);
}

/** Polls for a moment: when a member of a cluster dies, the others do not respond while they elect a leader. */
async function answersSoon(folder: StateFolder, name: ProcessName): Promise<boolean> {
  return (await poll(() => probe(name).answers(folder), { deadlineMs: 3_000 })) ?? false;
}

function isElsewhere(folder: StateFolder, name: ProcessName): boolean {
  const { addresses, ports } = folder.state;
  if (addresses === undefined) return false;
  const ours = (address: string, port?: number) => address.includes(`127.0.0.1:${port}`);
  if (name === 'api' || name === 'pipeline') return false;
  const kind = kindOf(name);
  if (kind === 'kafka') return !ours(addresses.kafkaBrokers.join(), ports.kafka);
  if (kind === 'mongod') return !ours(addresses.mongoUrl, ports.mongod);
  return !ours(addresses.s3.endpoint, ports.s3);
}

async function statusOf(folder: StateFolder, name: ProcessName): Promise<ProcessStatus> {
  const known = folder.state.processes[name];
  const running = known !== undefined && ('container' in known || runningProcess(folder, name) !== undefined);
  return {
    elsewhere: isElsewhere(folder, name),
    pid: running ? known.pid : null,
    running,
    healthy: running && (await answersSoon(folder, name)),
    log: folder.log(name),
  };
}

export async function status({ state, json }: { state: string; json?: boolean }): Promise<void> {
  const folder = readState(state);
  if (folder === undefined) {
    if (json) process.stdout.write(`${JSON.stringify({ state: null, processes: {} })}\n`);
    else process.stdout.write(`no stack has been started in ${state}\n`);
    process.exit(1);
  }
  const entries = await Promise.all(
    processesOf(clusterOf(folder.state)).map(async (name) => [name, await statusOf(folder, name)] as const),
  );
  if (json) {
    const processes = Object.fromEntries(entries);
    const addresses = { api_url: apiUrl(folder), registry_url: registryUrl(folder) };
    process.stdout.write(`${JSON.stringify({ state: folder.directory, ...addresses, processes })}\n`);
  } else {
    for (const [name, { elsewhere, pid, running, healthy, log }] of entries) {
      const absent = elsewhere ? 'external' : 'not running';
      const word = healthy ? 'healthy' : running ? 'not responding' : absent;
      process.stdout.write(
        `${name.padEnd(9)} ${word.padEnd(16)} ${(pid === null ? '' : `pid ${pid}`).padEnd(12)} ${log}\n`,
      );
    }
  }
  process.exit(entries.every(([, { healthy, elsewhere }]) => healthy || elsewhere) ? 0 : 1);
}
