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
import type { StorageIssuer, StoragePartner } from './storage-issuer.ts';

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

  const allow = ({ prefix, storageUser }: StoragePartner) => {
    const PolicyDocument = JSON.stringify(awsPolicy(config.s3Bucket, { prefix, storageUser }));
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
        // It is suspended already.
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
