/** Grants the users of a secure stack exactly what deploy/README.md lists for each role. */
import { readFileSync } from 'node:fs';
import {
  type AclEntry,
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { passwordOf } from '../../deploy/local/security.ts';
import type { StateFolder } from '../../deploy/local/state.ts';
import { createKafka } from '../../pipeline/kafka/topics.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import type { Config } from '../../schemas/config.ts';
import { waitFor } from '../support/wait-for.ts';

const page = readFileSync(new URL('../../deploy/README.md', import.meta.url), 'utf8');
/** Rows of its table of ACLs: role, resource, operations. */
const rows = /\| ACLs of \|.*\n.*\n((?:\|.*\n)+)/
  .exec(page)![1]!
  .trimEnd()
  .split('\n')
  .map(
    (line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, 4) as [string, string, string],
  );
const userOf = (role: string) => (role === 'tap, topics, replay' ? 'operator' : role);

function resourceOf(text: string, { topicPrefix, groupPrefix }: Config) {
  if (text === 'cluster')
    return { resourceType: AclResourceTypes.CLUSTER, resourceName: 'kafka-cluster', isPrefix: false };
  const [, kind, isPrefix, name] = /^(topic|group)s?( with the prefix)? `(.+)`$/.exec(text)!;
  const resourceName = name!
    .replace(/^ingest\./, `${topicPrefix}.`)
    .replace(/^headrace\./, `${groupPrefix}.`);
  const resourceType = kind === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP;
  return { resourceType, resourceName, isPrefix: isPrefix !== undefined };
}

function aclsOf(config: Config): AclEntry[] {
  return rows.flatMap(([role, resource, operations]) => {
    const { isPrefix, ...named } = resourceOf(resource, config);
    const nameOf = (operation: string) => operation.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
    return operations.split(', ').map((operation) => ({
      ...named,
      resourcePatternType: isPrefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      principal: `User:${userOf(role)}`,
      host: '*',
      operation: AclOperationTypes[nameOf(operation) as keyof typeof AclOperationTypes],
      permissionType: AclPermissionTypes.ALLOW,
    }));
  });
}

/** Grants as the user of `config`, a superuser. */
export async function grantKafka(config: Config): Promise<void> {
  const admin = createKafka(config, createLogger({ logLevel: 'silent' }, 'grant')).admin();
  await admin.connect();
  try {
    const acl = aclsOf(config);
    await admin.createAcls({ acl });
    const granted = async () => {
      const { resources } = await admin.describeAcls({
        resourceType: AclResourceTypes.ANY,
        resourcePatternType: ResourcePatternTypes.ANY,
        operation: AclOperationTypes.ANY,
        permissionType: AclPermissionTypes.ANY,
      });
      return resources.reduce((sum, { acls }) => sum + acls.length, 0) >= acl.length;
    };
    await waitFor(granted, { what: 'the ACLs at the broker' });
  } finally {
    await admin.disconnect();
  }
}

export async function grantMongo(config: Config, folder: StateFolder): Promise<void> {
  const mongo = await connectMongo(config);
  const roles = { api: 'readWrite', pipeline: 'readWrite', admin: 'readWrite', operator: 'read' };
  try {
    for (const [createUser, role] of Object.entries(roles))
      await mongo.client.db('admin').command({
        createUser,
        pwd: passwordOf(folder, createUser),
        roles: [{ role, db: config.mongoDatabase }],
        writeConcern: { w: 'majority' },
      });
  } finally {
    await mongo.close();
  }
}
