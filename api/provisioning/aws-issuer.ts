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
import type { Config } from '../../schemas/config.ts';
import { type Policy, partnerStatements } from './policies.ts';
import type { StorageIssuer } from './storage-issuer.ts';

const PolicyName = 'headrace-prefix';

export const awsPolicy = (bucket: string, partner: { prefix: string; storageUser: string }): Policy => ({
  Version: '2012-10-17',
  Statement: partnerStatements(bucket, partner, { named: false }),
});

export function createAwsIssuer(
  config: Config,
  requestHandler: IAMClientConfig['requestHandler'] = {
    connectionTimeout: 20_000,
    requestTimeout: 20_000,
    throwOnRequestTimeout: true,
  },
): StorageIssuer {
  const iam = new IAMClient({
    // IAM is global and signs for this region.
    region: 'us-east-1',
    credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
    // A call that is repeated after it went through would be refused.
    maxAttempts: 1,
    requestHandler,
  });

  return {
    async issue({ id, prefix, storageUser }) {
      const UserName = storageUser;
      const PolicyDocument = JSON.stringify(awsPolicy(config.s3Bucket, { prefix, storageUser }));
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
