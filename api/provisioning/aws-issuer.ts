/** AWS: an IAM user for each partner, with an inline policy and one access key. */
import {
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteUserCommand,
  DeleteUserPolicyCommand,
  IAMClient,
  type IAMClientConfig,
  ListAccessKeysCommand,
  PutUserPolicyCommand,
} from '@aws-sdk/client-iam';
import { serviceCredentials } from '../../pipeline/sources/credentials.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import { partitionOf, partnerPolicy } from './policies.ts';
import type { StorageIssuer } from './storage-issuer.ts';

const PolicyName = 'headrace-prefix';

/** IAM is one for all regions of a partition, and signs for this one. */
const iamRegions: Record<string, string> = {
  aws: 'us-east-1',
  'aws-cn': 'cn-north-1',
  'aws-us-gov': 'us-gov-west-1',
};

export function createAwsIssuer(
  config: ConfigOf<'admin'>,
  requestHandler: IAMClientConfig['requestHandler'] = {
    connectionTimeout: 20_000,
    requestTimeout: 20_000,
    throwOnRequestTimeout: true,
  },
): StorageIssuer {
  const credentials = serviceCredentials(config);
  const iam = new IAMClient({
    region: iamRegions[partitionOf(config.s3Region)] ?? config.s3Region,
    ...(credentials ? { credentials } : {}),
    // A call that is repeated after it went through would be refused.
    maxAttempts: 1,
    requestHandler,
  });

  return {
    async issue({ id, prefix, storageUser }) {
      const UserName = storageUser;
      const PolicyDocument = JSON.stringify(partnerPolicy(config, { prefix, storageUser }));
      const Tags = [{ Key: 'partner', Value: id }];
      await iam.send(new CreateUserCommand({ UserName, Path: '/headrace/', Tags }));
      await iam.send(new PutUserPolicyCommand({ UserName, PolicyName, PolicyDocument }));
      const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
      return { accessKeyId: AccessKey!.AccessKeyId!, secretAccessKey: AccessKey!.SecretAccessKey! };
    },
    async revoke({ storageUser: UserName }) {
      const { AccessKeyMetadata = [] } = await iam.send(new ListAccessKeysCommand({ UserName }));
      for (const { AccessKeyId } of AccessKeyMetadata)
        await iam.send(new DeleteAccessKeyCommand({ UserName, AccessKeyId }));
      await iam.send(new DeleteUserPolicyCommand({ UserName, PolicyName }));
      await iam.send(new DeleteUserCommand({ UserName }));
    },
  };
}
