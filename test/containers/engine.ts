/** The Docker engine of the container tests: the one that runs, or a new one with its own socket and folder. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastLines, runTool } from '../../deploy/local/child.ts';
import { dockerAnswers } from '../../deploy/local/docker.ts';
import { onPath } from '../../deploy/local/tools.ts';
import { poll } from '../../deploy/local/wait.ts';

interface Engine {
  /** For DOCKER_HOST; undefined for the engine that the environment names. */
  readonly host: string | undefined;
  stop(): Promise<void>;
}

/** Why no engine is running and none can be started. */
export function whyNone(): string | undefined {
  if (!onPath('dockerd'))
    return 'no Docker engine is running, and there is no dockerd to start one (apt-get install docker.io)';
  if (process.getuid?.() !== 0)
    return 'no Docker engine is running, and only root can start one: start it, or run this as root';
  return undefined;
}

/** Undefined if whyNone returns a reason. */
export async function findEngine(): Promise<Engine | undefined> {
  if (await dockerAnswers()) return { host: undefined, stop: async () => {} };
  return whyNone() === undefined ? startEngine() : undefined;
}

async function startEngine(): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-engine-'));
  const host = `unix://${join(directory, 'docker.sock')}`;
  const log = join(directory, 'dockerd.log');
  const hadBridge = existsSync('/sys/class/net/docker0');
  const output = openSync(log, 'a');
  const folders = ['--data-root', join(directory, 'data'), '--exec-root', join(directory, 'exec')];
  const child = spawn('dockerd', ['-H', host, ...folders, '--pidfile', join(directory, 'pid')], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    child.kill('SIGTERM');
    await poll(hasEnded, { deadlineMs: 120_000 });
    // dockerd leaves it mounted.
    await runTool('umount', [join(directory, 'exec', 'netns', 'default')]).catch(() => {});
    rmSync(directory, { recursive: true, force: true });
    if (!hadBridge && existsSync('/sys/class/net/docker0'))
      await runTool('ip', ['link', 'delete', 'docker0']).catch(() => {});
  };
  const answers = () =>
    runTool('docker', ['version'], { env: { DOCKER_HOST: host } }).then(
      () => true,
      () => false,
    );
  if (await poll(async () => hasEnded() || (await answers()), { deadlineMs: 120_000, everyMs: 200 }))
    if (!hasEnded()) return { host, stop };
  const reason = lastLines(log);
  await stop();
  throw new Error(`dockerd did not start:\n${reason}`);
}
