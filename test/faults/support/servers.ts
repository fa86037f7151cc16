/** Kafka, mongod and S3 that a test may kill, freeze and restart: in their own folder, removed however the test ends. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressesAsEnvironment, type ServerAddresses } from '../../../deploy/local/addresses.ts';
import {
  type BrokerName,
  brokersOf,
  type Cluster,
  type MemberName,
  membersOf,
  type ServerKind,
  type ServerName,
  single,
} from '../../../deploy/local/names.ts';
import { anyPorts } from '../../../deploy/local/ports.ts';
import { startedAt } from '../../../deploy/local/process-identity.ts';
import { bringUp } from '../../../deploy/local/stack.ts';
import { readState, type StateFolder } from '../../../deploy/local/state.ts';
import { dataFolder } from '../../support/data-folder.ts';
import { guard } from '../../support/guard.ts';
import { removeStack } from '../../support/remove-stack.ts';
import { cleanEnvironment } from '../../support/run-headrace.ts';
import { waitFor } from '../../support/wait-for.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export type { BrokerName, MemberName, ServerName } from '../../../deploy/local/names.ts';

export interface OwnServers {
  readonly addresses: ServerAddresses;
  readonly folder: StateFolder;
  readonly brokers: readonly BrokerName[];
  readonly members: readonly MemberName[];
  /** Removed with the servers. */
  readonly logs: string;
  /** Host and port of a member. */
  hostOf(server: ServerName): string;
  signal(server: ServerName, name: NodeJS.Signals): void;
  runs(server: ServerName): boolean;
  /** Resolves once a killed server is gone. */
  gone(server: ServerName): Promise<void>;
  /** Resolves once a server that got SIGSTOP is fully stopped: its threads stop one after the other. */
  frozen(server: ServerName): Promise<void>;
  /** Restarts servers that are down, on their old ports and data, and waits until they respond: those named, or all. */
  revive(only?: readonly ServerName[]): Promise<void>;
  /** The proxy between a broker and everyone but the controllers; only with `canBeCut`. */
  proxyOf(broker: BrokerName): TcpProxy;
  close(): Promise<void>;
}

export interface OwnServersOptions extends Partial<Cluster> {
  directory?: string;
  /** Other servers to use for every kind that is not in `own`. */
  shared?: { addresses: ServerAddresses; own: readonly ServerKind[] };
  /** With a proxy before each broker. */
  canBeCut?: boolean;
  /** With TLS and logins. */
  secure?: boolean;
}

/** Servers named in the environment are not started. */
function environmentOf(shared: OwnServersOptions['shared']) {
  if (!shared) return cleanEnvironment();
  const prefixes = { kafka: 'HEADRACE_KAFKA_', mongod: 'HEADRACE_MONGO_', s3: 'HEADRACE_S3_' };
  const ours = shared.own.map((kind) => prefixes[kind]);
  const theirs = Object.entries(addressesAsEnvironment(shared.addresses)).filter(
    ([name]) => !ours.some((prefix) => name.startsWith(prefix)),
  );
  return { ...cleanEnvironment(), ...Object.fromEntries(theirs) };
}

export async function startOwnServers({
  directory = mkdtempSync(join(dataFolder(), 'headrace-faults-')),
  shared,
  canBeCut = false,
  secure,
  ...size
}: OwnServersOptions = {}): Promise<OwnServers> {
  const release = guard(directory);
  const cluster: Cluster = { ...single, ...size };
  const state = () => readState(directory)!.state;
  const proxies = new Map<BrokerName, TcpProxy>();
  const start = (only?: readonly ServerName[]) =>
    bringUp({
      directory,
      report: () => {},
      env: environmentOf(shared),
      wantedPorts: anyPorts,
      mongodCacheGb: 1,
      ...size,
      secure,
      only,
      advertised: Object.fromEntries([...proxies].map(([name, { port }]) => [name, port])),
    });
  const close = async () => {
    await removeStack(directory);
    for (const proxy of proxies.values()) await proxy.close();
    await release();
  };
  const processOf = (server: ServerName) => state().processes[server]!;
  const runs = (server: ServerName) => {
    const known = state().processes[server];
    return known !== undefined && startedAt(known.pid) !== undefined;
  };
  const killed = new Set<ServerName>();
  const gone = async (server: ServerName) => {
    await waitFor(() => !runs(server), { what: `the end of ${server}`, everyMs: 20 });
  };
  try {
    if (canBeCut)
      for (const name of brokersOf(cluster))
        proxies.set(name, await startTcpProxy(() => state().ports[name]!));
    const { addresses } = await waitFor(() => start(), { what: 'the servers', everyMs: 1_000 });
    const logs = join(directory, 'logs');
    mkdirSync(logs, { recursive: true });
    return {
      addresses,
      folder: readState(directory)!,
      brokers: brokersOf(cluster),
      members: membersOf(cluster),
      logs,
      hostOf: (server) => `127.0.0.1:${state().ports[server]}`,
      signal(server, name) {
        process.kill(processOf(server).pid, name);
        if (name === 'SIGKILL' || name === 'SIGTERM') killed.add(server);
      },
      runs,
      gone,
      async frozen(server) {
        const { pid } = processOf(server);
        const threads = () => readdirSync(`/proc/${pid}/task`);
        const isStopped = (thread: string) =>
          / T \d/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'));
        await waitFor(() => threads().every(isStopped), { what: `${server} frozen`, everyMs: 5 });
      },
      async revive(only) {
        // A killed server holds its port until it is gone.
        for (const name of only ?? [...killed]) if (killed.delete(name)) await gone(name);
        const again = await waitFor(() => start(only), {
          what: 'the servers',
          everyMs: 1_000,
        });
        if (JSON.stringify(again.addresses) !== JSON.stringify(addresses))
          throw new Error('a server came back elsewhere: somebody took its port while it was dead');
      },
      proxyOf: (broker) => proxies.get(broker)!,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
