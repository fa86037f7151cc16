/** Copies of a server's data, like disk snapshots: taken at any moment and restored later; or an empty disk instead. */
import { cpSync, rmSync } from 'node:fs';
import type { OwnServers, ServerName } from './servers.ts';

/** Each server has at most one copy at a time. */
interface DataCopy {
  /** Restarts the server on the copy and discards everything stored since. */
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
