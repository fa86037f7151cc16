import { describeServer } from '../local/servers.ts';
import { apiUrl, serviceProcess } from '../local/service.ts';
import { type ProcessName, processNames, readState, type StateFolder } from '../local/state.ts';
import { runningProcess, type Startable } from '../local/supervise.ts';

interface ProcessStatus {
  readonly pid: number | null;
  readonly running: boolean;
  readonly healthy: boolean;
  readonly log: string;
}

function probe(name: ProcessName): Pick<Startable, 'answers'> {
  return name === 'api' || name === 'pipeline' ? serviceProcess(name, {}) : describeServer(name);
}

async function statusOf(folder: StateFolder, name: ProcessName): Promise<ProcessStatus> {
  const known = folder.state.processes[name];
  const running = known !== undefined && ('container' in known || runningProcess(folder, name) !== undefined);
  return {
    pid: running ? known.pid : null,
    running,
    healthy: running && (await probe(name).answers(folder)),
    log: folder.log(name),
  };
}

export async function status({ state, json }: { state: string; json?: boolean }): Promise<void> {
  const folder = readState(state);
  if (folder === undefined) {
    if (json) process.stdout.write(`${JSON.stringify({ state: null, processes: {} })}\n`);
    else process.stdout.write(`nothing was ever started in ${state}\n`);
    process.exit(1);
  }
  const entries = await Promise.all(
    processNames.map(async (name) => [name, await statusOf(folder, name)] as const),
  );
  if (json) {
    const processes = Object.fromEntries(entries);
    process.stdout.write(
      `${JSON.stringify({ state: folder.directory, api_url: apiUrl(folder), processes })}\n`,
    );
  } else {
    for (const [name, { pid, running, healthy, log }] of entries) {
      const word = healthy ? 'answers' : running ? 'does not answer' : 'not running';
      process.stdout.write(
        `${name.padEnd(9)} ${word.padEnd(16)} ${(pid === null ? '' : `pid ${pid}`).padEnd(12)} ${log}\n`,
      );
    }
  }
  process.exit(entries.every(([, { healthy }]) => healthy) ? 0 : 1);
}
