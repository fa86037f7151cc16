/** Creates a partner with its storage credentials and first API key; if any step fails, removes what was created. */
import type { CounterStore } from '../../pipeline/stores/counters.ts';
import { draftPartner, ProvisioningError } from '../../pipeline/stores/partners.ts';
import type { ConfigOf } from '../../schemas/config.ts';
import type { ApiStores } from '../stores/api-stores.ts';
import { createAwsIssuer } from './aws-issuer.ts';
import type { StorageIssuer } from './storage-issuer.ts';
import { createManualIssuer } from './storage-issuer.ts';
import { createVersitygwIssuer } from './versitygw-issuer.ts';

const awsEndpoint = (region: string) =>
  `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
const isAws = (endpoint: string) => endpoint === '' || /\.amazonaws\.com(\.cn)?(:\d+)?\/?$/.test(endpoint);

export function createStorageIssuer(config: ConfigOf<'admin'>, counters: CounterStore): StorageIssuer {
  if (config.s3Issuer === 'manual') return createManualIssuer(config);
  if (config.s3Issuer === 'versitygw') return createVersitygwIssuer(config, counters);
  if (isAws(config.s3Endpoint)) return createAwsIssuer(config);
  throw new ProvisioningError(
    'not_configured',
    `HEADRACE_S3_ISSUER: expected versitygw or manual, because HEADRACE_S3_ENDPOINT (${config.s3Endpoint}) is not AWS`,
  );
}

export async function provisionPartner(
  { partners, apiKeys, counters }: ApiStores,
  config: ConfigOf<'admin'>,
  name: string,
  issuer: StorageIssuer = createStorageIssuer(config, counters),
) {
  const partner = draftPartner(name);
  const { _id: id, prefix, storageUser } = partner;
  await partners.insert(partner);
  try {
    const issued = await issuer.issue({ id, prefix, storageUser });
    const storage =
      'policy' in issued
        ? { access_key_id: null, secret_access_key: null, ...issued }
        : { access_key_id: issued.accessKeyId, secret_access_key: issued.secretAccessKey };
    const { key } = await apiKeys.create(config.secret, id, 'first');
    return {
      partner_id: id,
      api_key: key,
      s3: {
        endpoint: config.s3Endpoint === '' ? awsEndpoint(config.s3Region) : config.s3Endpoint,
        region: config.s3Region,
        bucket: config.s3Bucket,
        prefix,
        ...storage,
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
      `the partner was not created: HEADRACE_S3_ISSUER is ${config.s3Issuer}, and issuing its storage credentials failed (${(cause as Error).message})`,
      { cause },
    );
  }
}
