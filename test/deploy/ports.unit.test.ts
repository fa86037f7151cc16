import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { anyFreePort, choosePort } from '../../deploy/local/ports.ts';
import { openState } from '../../deploy/local/state.ts';
import { type Run, settlePorts } from '../../deploy/local/supervise.ts';
import { takePort } from '../support/take-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ports = fileURLToPath(new URL('../../deploy/local/ports.ts', import.meta.url));

/** Another process that chooses a port, prints it, and has not yet started its server. */
async function chooseElsewhere() {
  const script = `import(${JSON.stringify(ports)}).then(async ({ anyFreePort }) => {
    process.stdout.write(String(await anyFreePort()));
    setInterval(() => {}, 1000);
  })`;
  const child = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [chosen] = await once(child.stdout, 'data');
  return { chosen: Number(chosen), child };
}

it('a port that another has chosen and not yet taken is not chosen; it is when the other has died', async () => {
  const { chosen, child } = await chooseElsewhere();
  expect(await choosePort(chosen, new Set())).not.toBe(chosen);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await choosePort(chosen, new Set())).toBe(chosen);
});

/** A start that has only settled its ports. */
function startIn(directory: string, options: Partial<Run>): { run: Run; said: string[] } {
  const said: string[] = [];
  const run = {
    folder: openState(directory),
    report: (line: string) => void said.push(line),
    signal: new AbortController().signal,
    wantedPorts: {},
    exactPorts: {},
    started: new Set<never>(),
    ...options,
  };
  return { run, said };
}

it('a port that is taken is said aloud, and taken again when it is free', async () => {
  const directory = temporaryFolder();
  const port = await anyFreePort();
  const free = await takePort(port);
  const first = startIn(directory, { wantedPorts: { api: port } });
  await settlePorts(first.run, ['api']);
  const other = first.run.folder.state.ports.api!;
  expect(other).not.toBe(port);
  expect(first.said).toEqual([`port ${port} is in use: api gets port ${other}`]);
  await free();
  const second = startIn(directory, { wantedPorts: { api: port } });
  await settlePorts(second.run, ['api']);
  expect([second.run.folder.state.ports.api, second.said]).toEqual([port, []]);
});

it('a port that was asked for by name is taken, or the start is refused', async () => {
  const directory = temporaryFolder();
  const port = await anyFreePort();
  const { run } = startIn(directory, { exactPorts: { api: { port, from: 'HEADRACE_API_PORT' } } });
  await settlePorts(run, ['api']);
  expect(run.folder.state.ports.api).toBe(port);
  const free = await takePort(port);
  await expect(settlePorts(run, ['api'])).rejects.toThrow(
    `port ${port} is in use by another process, and HEADRACE_API_PORT asks for it`,
  );
  await free();
});

it('servers keep the port of their last start', async () => {
  const directory = temporaryFolder();
  const [last, preset] = [await anyFreePort(), await anyFreePort()];
  const { run } = startIn(directory, { wantedPorts: { mongod: preset } });
  run.folder.state.ports.mongod = last;
  await settlePorts(run, ['mongod']);
  expect(run.folder.state.ports.mongod).toBe(last);
});
