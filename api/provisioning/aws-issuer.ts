/** AWS: an IAM user for each partner, with an inline policy and one access key. */
import type { Config } from '../../schemas/config.ts';
import { type Policy, partnerStatements } from './policies.ts';
import { type SendSigned, sendSigned } from './signed-request.ts';
import type { StorageIssuer } from './storage-issuer.ts';

const IAM = new URL('https://iam.amazonaws.com/');
const POLICY = 'headrace-prefix';

export const awsPolicy = (bucket: string, partner: { prefix: string; storageUser: string }): Policy => ({
  Version: '2012-10-17',
  Statement: partnerStatements(bucket, partner, { named: false }),
});

const element = (xml: string, name: string): string => {
  const text = new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
  if (text === undefined) throw new Error(`IAM’s answer holds no ${name}`);
  return text;
};

export function createAwsIssuer(config: Config, send: SendSigned = sendSigned): StorageIssuer {
  const call = (action: string, parameters: Record<string, string>) =>
    send({
      method: 'POST',
      url: IAM,
      service: 'iam',
      // IAM is global and signs for this region.
      region: 'us-east-1',
      credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ Action: action, Version: '2010-05-08', ...parameters }).toString(),
    });

  return {
    async issue(partner) {
      const UserName = partner.storageUser;
      await call('CreateUser', {
        UserName,
        Path: '/headrace/',
        'Tags.member.1.Key': 'partner',
        'Tags.member.1.Value': partner.id,
      });
      await call('PutUserPolicy', {
        UserName,
        PolicyName: POLICY,
        PolicyDocument: JSON.stringify(awsPolicy(config.s3Bucket, partner)),
      });
      const answer = await call('CreateAccessKey', { UserName });
      return {
        accessKeyId: element(answer, 'AccessKeyId'),
        secretAccessKey: element(answer, 'SecretAccessKey'),
      };
    },
    async revoke(partner) {
      const UserName = partner.storageUser;
      const answer = await call('ListAccessKeys', { UserName });
      for (const [, AccessKeyId] of answer.matchAll(/<AccessKeyId>([^<]+)<\/AccessKeyId>/g))
        await call('DeleteAccessKey', { UserName, AccessKeyId: AccessKeyId! });
      await call('DeleteUserPolicy', { UserName, PolicyName: POLICY });
      await call('DeleteUser', { UserName });
    },
  };
}
