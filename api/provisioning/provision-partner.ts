/** Creates a partner with its storage credentials and first API key; if any step fails, removes what was created. */
import type { CounterStore } from '../../pipeline/stores/counters.ts';
import { draftPartner, ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { Config } from '../../schemas/config.ts';
import type { ApiStores } from '../stores.ts';
import { createAwsIssuer } from './aws-issuer.ts';
import { createPolicyLock } from './policy-lock.ts';
import type { StorageIssuer } from './storage-issuer.ts';
import { createVersitygwIssuer } from './versitygw-issuer.ts';

export const createStorageIssuer = (config: Config, counters: CounterStore): StorageIssuer =>
  config.s3Issuer === 'versitygw'
    ? createVersitygwIssuer(config, createPolicyLock(counters))
    : createAwsIssuer(config);

export async function provisionPartner(
  { partners, apiKeys, counters }: ApiStores,
  config: Config,
  name: string,
  issuer: StorageIssuer = createStorageIssuer(config, counters),
) {
  const partner = draftPartner(name);
  const { _id: id, prefix, storageUser } = partner;
  await partners.insert(partner);
  try {
    const storage = await issuer.issue({ id, prefix, storageUser });
    const { key } = await apiKeys.create(config.secret, id, 'first');
    return {
      partner_id: id,
      api_key: key,
      s3: {
        endpoint:
          config.s3Endpoint === '' ? `https://s3.${config.s3Region}.amazonaws.com` : config.s3Endpoint,
        region: config.s3Region,
        bucket: config.s3Bucket,
        prefix,
        access_key_id: storage.accessKeyId,
        secret_access_key: storage.secretAccessKey,
      },
    };
  } catch (cause) {
    await Promise.allSettled([
      issuer.revoke({ id, prefix, storageUser }),
      apiKeys.removeAll(id),
      partners.remove(id),
    ]);
    throw new ProvisioningError(
      'storage_failed',
      `the partner was not created: issuing its storage credentials failed (${(cause as Error).message})`,
      { cause },
    );
  }
}
