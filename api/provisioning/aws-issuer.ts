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
import type { StorageIssuer, StoragePartner } from './storage-issuer.ts';

const PolicyName = 'headrace-prefix';

/** IAM is global within a partition; requests are signed for this region. */
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
    // No SDK retries: a repeated call that went through would be refused.
    maxAttempts: 1,
    requestHandler,
  });

  const allow = ({ prefix, storageUser }: StoragePartner) => {
    const PolicyDocument = JSON.stringify(partnerPolicy(config, { prefix, storageUser }));
    return iam.send(new PutUserPolicyCommand({ UserName: storageUser, PolicyName, PolicyDocument }));
  };

  return {
    async issue(partner) {
      const { id, storageUser: UserName } = partner;
      const Tags = [{ Key: 'partner', Value: id }];
      await iam.send(new CreateUserCommand({ UserName, Path: '/headrace/', Tags }));
      await allow(partner);
      const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName }));
      return { accessKeyId: AccessKey!.AccessKeyId!, secretAccessKey: AccessKey!.SecretAccessKey! };
    },
    async suspend({ storageUser: UserName }) {
      await iam.send(new DeleteUserPolicyCommand({ UserName, PolicyName })).catch((error: Error) => {
        // Already suspended.
        if (error.name !== 'NoSuchEntityException') throw error;
      });
    },
    async resume(partner) {
      await allow(partner);
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
