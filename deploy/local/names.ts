/** The names of a stack's processes. The first broker and member of a cluster have the same names as those of a single-node stack. */
import { StartError } from './start-error.ts';

export const brokerNames = ['kafka', 'kafka-2', 'kafka-3'] as const;
export type BrokerName = (typeof brokerNames)[number];
export const memberNames = ['mongod', 'mongod-2', 'mongod-3'] as const;
export type MemberName = (typeof memberNames)[number];
export type ServerName = BrokerName | MemberName | 's3';
export type ServerKind = 'kafka' | 'mongod' | 's3';

/** Processes stop in flow order; those of a group stop in parallel. */
export const stopOrder = [['api'], ['pipeline'], brokerNames, ['s3'], memberNames] as const;
export type ProcessName = (typeof stopOrder)[number][number];

/** Not two: a majority of two is both, which is less available than one. */
export const clusterSizes = [1, 3] as const;
export type ClusterSize = (typeof clusterSizes)[number];

export interface Cluster {
  readonly brokers: ClusterSize;
  readonly members: ClusterSize;
}
export const single: Cluster = { brokers: 1, members: 1 };

export const brokersOf = ({ brokers }: Cluster): readonly BrokerName[] => brokerNames.slice(0, brokers);
export const membersOf = ({ members }: Cluster): readonly MemberName[] => memberNames.slice(0, members);
export const serversOf = (cluster: Cluster): readonly ServerName[] => [
  ...brokersOf(cluster),
  's3',
  ...membersOf(cluster),
];
export const processesOf = (cluster: Cluster): readonly ProcessName[] => [
  'api',
  'pipeline',
  ...serversOf(cluster),
];

export function kindOf(name: ServerName): ServerKind {
  return name === 's3' ? name : name.startsWith('kafka') ? 'kafka' : 'mongod';
}

/** The cluster of a state folder. Its size is fixed by the first start, because the data depends on it. */
export function settleCluster(known: Cluster | undefined, wanted: Partial<Cluster>): Cluster {
  const cluster = { ...single, ...known };
  for (const [what, count] of Object.entries(wanted) as [keyof Cluster, ClusterSize | undefined][]) {
    if (count === undefined || count === cluster[what]) continue;
    if (known !== undefined)
      throw new StartError(
        'other_cluster',
        `the data in this state folder was made for --${what} ${cluster[what]}, not ${count}: choose another folder with --state, or delete the data with headrace down --purge`,
      );
    cluster[what] = count;
  }
  return cluster;
}
