/** One real Kafka, mongod and S3 for the whole run, on ports and in a folder of their own; gone when the run is. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { ServerAddresses } from '../../deploy/local/addresses.ts';
import { holderOf, withLock } from '../../deploy/local/lock.ts';
import { bringUp, takeDown } from '../../deploy/local/stack.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    servers: ServerAddresses;
  }
}

const prefix = 'headrace-test-';
const ownerFile = (directory: string) => `${directory}.owner`;
const silent = () => {};

/** A run that was killed could not stop its servers: the next one does. */
async function removeAbandoned(): Promise<void> {
  const folders = readdirSync(tmpdir()).filter((name) => name.startsWith(prefix) && !name.includes('.owner'));
  for (const name of folders) {
    const directory = join(tmpdir(), name);
    if (holderOf(ownerFile(directory)) !== undefined) continue;
    await takeDown(directory, silent, { purge: true });
    rmSync(directory, { recursive: true, force: true });
    rmSync(ownerFile(directory), { force: true });
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned();
  const directory = mkdtempSync(join(tmpdir(), prefix));
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  let release = silent;
  const owned = new Promise<void>((resolve) => {
    release = resolve;
  });
  // Held as long as this run lives, so that another run does not take our servers for abandoned ones.
  const lock = withLock(ownerFile(directory), () => owned);
  const stop = async () => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    await takeDown(directory, silent, { purge: true });
    rmSync(directory, { recursive: true, force: true });
    release();
    await lock;
  };
  try {
    const stack = await bringUp({
      directory,
      report: (line) => process.stderr.write(`  ${line}\n`),
      signal: interrupted.signal,
      wantedPorts: { kafka: 0, kafkaController: 0, mongod: 0, s3: 0 },
    });
    project.provide('servers', stack.addresses);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
