/** versitygw: users by its administration interface, confined by the bucket's policy. */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../schemas/config.ts';
import { emptyPolicy, type Policy, partnerStatements, withStatements } from './policies.ts';
import type { Exclusive } from './policy-lock.ts';
import { StorageRequestError, sendSigned } from './signed-request.ts';
import type { StorageIssuer, StoragePartner } from './storage-issuer.ts';

export function createVersitygwIssuer(config: Config, exclusive: Exclusive): StorageIssuer {
  const call = (method: string, path: string, body?: string) =>
    sendSigned({
      method,
      url: new URL(path, config.s3Endpoint),
      service: 's3',
      region: config.s3Region,
      credentials: { accessKeyId: config.s3AccessKeyId, secretAccessKey: config.s3SecretAccessKey },
      ...(body === undefined ? {} : { body }),
    });
  const policyPath = `/${config.s3Bucket}?policy=`;

  async function readPolicy(): Promise<Policy> {
    try {
      return JSON.parse(await call('GET', policyPath)) as Policy;
    } catch (error) {
      if (error instanceof StorageRequestError && error.answer.includes('NoSuchBucketPolicy'))
        return emptyPolicy();
      throw error;
    }
  }

  async function writePolicy(policy: Policy): Promise<void> {
    if (policy.Statement.length === 0) await call('DELETE', policyPath);
    else
      await call('PUT', policyPath, JSON.stringify(policy)).catch((cause) => {
        const partners = policy.Statement.length / 2;
        throw new Error(
          `the bucket’s policy with ${partners} partners was not taken; versitygw keeps it in a file attribute, ` +
            `which most file systems limit to 4 KB, unless it is started with --sidecar`,
          { cause },
        );
      });
  }

  const change = (partner: StoragePartner, statements: ReturnType<typeof partnerStatements>) =>
    exclusive(async () => writePolicy(withStatements(await readPolicy(), partner.storageUser, statements)));

  return {
    async issue(partner) {
      const secretAccessKey = randomBytes(30).toString('base64url');
      const { storageUser } = partner;
      await call(
        'PATCH',
        '/create-user',
        `<Account><Access>${storageUser}</Access><Secret>${secretAccessKey}</Secret><Role>user</Role></Account>`,
      );
      await change(partner, partnerStatements(config.s3Bucket, partner, { named: true }));
      return { accessKeyId: storageUser, secretAccessKey };
    },
    // The policy first: it must not name a user that is not there.
    async revoke(partner) {
      await change(partner, []);
      await call('PATCH', `/delete-user?access=${encodeURIComponent(partner.storageUser)}`);
    },
  };
}
