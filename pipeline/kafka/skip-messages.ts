/** Commits the end offsets of all topics for the groups of all stages. */
import type { OperatorConfig } from '../../schemas/config.ts';
import { stageInputs } from '../../schemas/topics.ts';
import { CommandFailed } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';
import { asking, findTopics, withCluster } from './cluster.ts';
import { commitOffset, offsetsAt } from './offsets.ts';
import { createKafka, groupName, topicName } from './topics.ts';

async function requireNoMembers(config: OperatorConfig, log: Logger): Promise<void> {
  const admin = createKafka(config, log).admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups(stageInputs.map(({ stage }) => groupName(config, stage)));
    const busy = groups.filter(({ members }) => members.length > 0).map(({ groupId }) => groupId);
    if (busy.length > 0)
      throw new CommandFailed(
        'still_running',
        `nothing was done: ${busy.join(', ')} has members. Stop all processes; one that was killed is a member for 10 s more`,
      );
  } finally {
    await admin.disconnect();
  }
}

/** Refused while one of the groups has a member. */
export const skipMessages = (config: OperatorConfig, log: Logger): Promise<void> =>
  withCluster(config, log, async (cluster) => {
    await requireNoMembers(config, log);
    const names = stageInputs.map(({ topic }) => topicName(config, topic));
    await findTopics(cluster, names);
    const ends = await asking(cluster, () => offsetsAt(cluster, names, 'end'));
    for (const { topic, stage } of stageInputs) {
      const [name, group] = [topicName(config, topic), groupName(config, stage)];
      for (const [partition, end] of ends.get(name)!)
        await asking(cluster, () => commitOffset(cluster, group, name, { partition, offset: String(end) }));
    }
  });
