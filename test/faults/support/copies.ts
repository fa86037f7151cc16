/** Copies of a server's data, as snapshots of its disk are: taken at any moment, and put back later, or nothing in their place. */
import { cpSync, rmSync } from 'node:fs';
import type { OwnServers, ServerName } from './servers.ts';

/** A server has one at a time. */
interface DataCopy {
  /** The server begins again from here. What it has stored since is gone. */
  putBack(): Promise<void>;
}

async function whileStopped(servers: OwnServers, server: ServerName, work: (data: string) => void) {
  servers.signal(server, 'SIGKILL');
  await servers.gone(server);
  work(servers.folder.data(server));
  await servers.revive([server]);
}

const replace = (data: string, by?: string) => {
  rmSync(data, { recursive: true });
  if (by) cpSync(by, data, { recursive: true });
};

export async function copyData(servers: OwnServers, server: ServerName): Promise<DataCopy> {
  const data = servers.folder.data(server);
  const copy = `${data}-copy`;
  rmSync(copy, { recursive: true, force: true });
  servers.signal(server, 'SIGSTOP');
  await servers.frozen(server);
  cpSync(data, copy, { recursive: true });
  servers.signal(server, 'SIGCONT');
  return { putBack: () => whileStopped(servers, server, (data) => replace(data, copy)) };
}

export const emptyData = (servers: OwnServers, server: ServerName) => whileStopped(servers, server, replace);
