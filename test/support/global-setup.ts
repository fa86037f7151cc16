/** One real Kafka, mongod and S3 for the whole run, on ports and in a folder of their own; gone when the run is. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { ServerAddresses } from '../../deploy/local/addresses.ts';
import { withLock } from '../../deploy/local/lock.ts';
import { anyPorts } from '../../deploy/local/ports.ts';
import { bringUp, takeDown } from '../../deploy/local/stack.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    servers: ServerAddresses;
    /** A folder that goes when the run does. */
    scratch: string;
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const silent = () => {};

/** Holds the file as long as this process lives, or until it is released; the guardian watches it. */
function own(file: string): () => Promise<void> {
  let release = silent;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = withLock(file, () => released);
  return async () => {
    release();
    await held;
  };
}

function startGuardian(directory: string, ownerFile: string): void {
  const guardian = join(root, 'test/support/guardian.ts');
  const args = ['--import', 'tsx', guardian, directory, ownerFile];
  spawn(process.execPath, args, { cwd: root, detached: true, stdio: 'ignore' }).unref();
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'headrace-test-'));
  const ownerFile = `${directory}.owner`;
  const release = own(ownerFile);
  startGuardian(directory, ownerFile);
  const stop = async () => {
    await takeDown(directory, silent, { purge: true });
    rmSync(directory, { recursive: true, force: true });
    await release();
  };
  try {
    const stack = await bringUp({
      directory,
      report: (line) => process.stderr.write(`  ${line}\n`),
      wantedPorts: anyPorts,
      mongodCacheGb: 1,
    });
    project.provide('servers', stack.addresses);
    project.provide('scratch', directory);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
