/** One real Kafka, mongod and S3 for the whole run, on their own ports and in their own folder; removed after the run. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureBuilt } from '../../deploy/build.mjs';
import type { ServerAddresses } from '../../deploy/local/addresses.ts';
import { anyPorts } from '../../deploy/local/ports.ts';
import { bringUp } from '../../deploy/local/stack.ts';
import { dataFolder } from './data-folder.ts';
import { guard } from './guard.ts';
import { removeStack } from './remove-stack.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    servers: ServerAddresses;
    /** A folder that is removed after the run. */
    scratch: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(dataFolder(), 'headrace-test-'));
  const release = guard(directory);
  const stop = async () => {
    await removeStack(directory);
    await release();
  };
  try {
    const bringingUp = bringUp({
      directory,
      report: (line) => process.stderr.write(`  ${line}\n`),
      wantedPorts: anyPorts,
      mongodCacheGb: 1,
    });
    // Compile once: otherwise each process that the first tests start compiles the same sources.
    const [stack] = await Promise.all([bringingUp, ensureBuilt()]);
    project.provide('servers', stack.addresses);
    project.provide('scratch', directory);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
