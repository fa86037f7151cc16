/** Kafka, mongod and S3 that a test may kill, freeze and start again: in a folder of their own, gone with the test however it ends. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerAddresses } from '../../../deploy/local/addresses.ts';
import { withLock } from '../../../deploy/local/lock.ts';
import { startedAt } from '../../../deploy/local/process-identity.ts';
import { bringUp, takeDown } from '../../../deploy/local/stack.ts';
import { readState } from '../../../deploy/local/state.ts';
import { cleanEnvironment } from '../../support/run-headrace.ts';
import { waitFor } from '../../support/wait-for.ts';

/** On a machine that does much else a start may fail and be tried again. */
const REVIVE_MS = 10 * 60_000;
const guardian = fileURLToPath(new URL('../../support/guardian.ts', import.meta.url));

export type ServerName = 'kafka' | 'mongod' | 's3';

export interface OwnServers {
  readonly addresses: ServerAddresses;
  /** Goes with the servers. */
  readonly logs: string;
  signal(server: ServerName, name: NodeJS.Signals): void;
  runs(server: ServerName): boolean;
  /** Starts what does not run, on its old ports and data, and waits until it answers. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

/** Held for as long as we live: the guardian stops the servers when it is let go without our having done so. */
function own(directory: string): () => Promise<void> {
  const owner = `${directory}.owner`;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = withLock(owner, () => released);
  spawn(process.execPath, ['--import', 'tsx', guardian, directory, owner], {
    detached: true,
    stdio: 'ignore',
  }).unref();
  return async () => {
    release();
    await held;
  };
}

export async function startOwnServers(at: { directory?: string } = {}): Promise<OwnServers> {
  const directory = at.directory ?? mkdtempSync(join(tmpdir(), 'headrace-faults-'));
  const release = own(directory);
  const start = () =>
    bringUp({
      directory,
      report: () => {},
      env: cleanEnvironment(),
      wantedPorts: { kafka: 0, kafkaController: 0, mongod: 0, s3: 0 },
    });
  const close = async () => {
    await takeDown(directory, () => {}, { purge: true });
    rmSync(directory, { recursive: true, force: true });
    await release();
  };
  const processOf = (server: ServerName) => readState(directory)!.state.processes[server]!;
  const runs = (server: ServerName) => startedAt(processOf(server).pid) !== undefined;
  const killed = new Set<ServerName>();
  try {
    const { addresses } = await start().catch(start);
    const logs = join(directory, 'logs');
    mkdirSync(logs, { recursive: true });
    return {
      addresses,
      logs,
      signal(server, name) {
        process.kill(processOf(server).pid, name);
        if (name === 'SIGKILL') killed.add(server);
      },
      runs,
      async revive() {
        // Who was killed keeps the port until it is really gone.
        for (const server of killed) await waitFor(() => !runs(server), { what: `the end of ${server}` });
        killed.clear();
        const again = await waitFor(start, { what: 'the servers', deadlineMs: REVIVE_MS, everyMs: 1_000 });
        if (JSON.stringify(again.addresses) !== JSON.stringify(addresses))
          throw new Error('a server came back elsewhere: somebody took its port while it was dead');
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
