/**
 * Removes a killed process's members from its consumer groups, as the broker does after the session timeout. Saves ten seconds per
 * kill in tests with many kills; other tests cover the timeout itself.
 */
import { createKafka, groupName } from '../../../pipeline/kafka/topics.ts';
import { createLogger } from '../../../pipeline/runtime/log.ts';
import type { Config } from '../../../schemas/config.ts';
import { stageNames } from '../../../schemas/stages.ts';

interface Coordinator {
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
}
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  findGroupCoordinator(request: { groupId: string }): Promise<Coordinator>;
}

const log = createLogger({ logLevel: 'silent' }, 'expel');

/** kafkajs has no public call to remove another member; its internals do. */
function clusterOf(kafka: object): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find((one) =>
    one.description?.endsWith('createCluster'),
  );
  const create = (kafka as Record<symbol, (options: object) => Cluster>)[symbol!]!;
  return create({ metadataMaxAge: 300_000 });
}

export async function expelAll(config: Config): Promise<void> {
  const kafka = createKafka(config, log);
  const admin = kafka.admin();
  const cluster = clusterOf(kafka);
  await Promise.all([admin.connect(), cluster.connect()]);
  try {
    const { groups } = await admin.describeGroups(stageNames.map((stage) => groupName(config, stage)));
    for (const { groupId, members } of groups) {
      for (const { memberId } of members) {
        const coordinator = await cluster.findGroupCoordinator({ groupId });
        await coordinator.leaveGroup({ groupId, memberId }).catch(() => {});
      }
    }
  } finally {
    await Promise.all([admin.disconnect(), cluster.disconnect()]);
  }
}
