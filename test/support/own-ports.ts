/** A state folder with its own ports: tests that start stacks concurrently would compete for the default ports. */
import type { Cluster } from '../../deploy/local/names.ts';
import { anyFreePort, defaultPorts, type PortName } from '../../deploy/local/ports.ts';
import { openState } from '../../deploy/local/state.ts';

export async function keepOwnPorts(directory: string, cluster?: Cluster): Promise<void> {
  const folder = openState(directory);
  const taken = new Set<number>();
  for (const name of Object.keys(defaultPorts) as PortName[]) {
    folder.state.ports[name] = await anyFreePort(taken);
    taken.add(folder.state.ports[name]);
  }
  if (cluster) folder.state.cluster = cluster;
  folder.save();
}
