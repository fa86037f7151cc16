/** The demo's partner: created once and kept in the state folder. */

import { signUserToken } from '../../api/auth/user-tokens.ts';
import { type ApiClient, createClient, importPath, partnerHeaders } from '../../api/client/client.ts';
import { ApiProblem } from '../../api/client/problem.ts';
import { provisionPartner } from '../../api/provisioning/provision-partner.ts';
import { createApiStores } from '../../api/stores/api-stores.ts';
import type { SigningKey } from '../../api/stores/token-keys.ts';
import { ensureIndexes } from '../../pipeline/stores/indexes.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { actorOf, recordAction } from '../cli/admin/record-action.ts';
import { serviceEnvironment } from '../local/service.ts';
import type { Stack } from '../local/stack.ts';
import { StartError } from '../local/start-error.ts';
import { attributes } from './samples.ts';

export interface DemoPartner {
  readonly partner_id: string;
  readonly api_key: string;
  readonly token_key: SigningKey;
  readonly s3: {
    readonly region: string;
    readonly bucket: string;
    readonly prefix: string;
    readonly access_key_id: string;
    readonly secret_access_key: string;
  };
  /** The audience to show, once the samples are loaded. */
  readonly audience?: DemoReport;
}

export interface DemoReport {
  readonly audience_id: number;
  readonly default_warehouse_segment_id: number;
}

/** The customer that the demo's audiences belong to. */
export const CUSTOMER = 'acme';

export const apiOf = (baseUrl: string, { api_key }: DemoPartner, userToken?: string): ApiClient =>
  createClient({ baseUrl, headers: partnerHeaders(api_key, userToken) });

/** undefined if the API refuses the request. */
export const tryGet = <T>(api: ApiClient, path: string): Promise<T | undefined> =>
  api.get<T>(path).then(
    ({ data }) => data,
    (error) => {
      if (error instanceof ApiProblem && error.status >= 400 && error.status < 500) return undefined;
      throw error;
    },
  );

export async function demoPartner(
  { folder }: Stack,
  apiUrl: string,
): Promise<{ partner: DemoPartner; made: boolean }> {
  const known = folder.state.demo as DemoPartner | undefined;
  // The key is unknown if the database was replaced since the last start.
  if (known && (await tryGet(apiOf(apiUrl, known), importPath))) return { partner: known, made: false };
  const config = parseConfig(serviceEnvironment(folder, process.env));
  const mongo = await connectMongo(config);
  try {
    await ensureIndexes(mongo.db);
    const stores = createApiStores(mongo.db);
    if (config.s3Issuer === 'manual')
      throw new StartError(
        'no_keys',
        'HEADRACE_S3_ISSUER: the demo uploads files as a partner, and manual issues no keys; start the service with headrace up',
      );
    const action = { actor: actorOf(config), action: 'demo', partner: null, details: {} };
    const { made: partner } = await recordAction(stores.audit, action, async () => {
      const issued = await provisionPartner(stores, config, 'Demo');
      const token_key = await stores.tokenKeys.create(config.secret, issued.partner_id);
      const made = { ...issued, token_key } as DemoPartner;
      for (const { foreignKey, name } of attributes)
        await stores.attributes.create({ partner: made.partner_id, name, foreignKey });
      return { made, partner: made.partner_id };
    });
    folder.state.demo = partner;
    folder.save();
    return { partner, made: true };
  } finally {
    await mongo.close();
  }
}

/** A token for the demo's customer, as the partner's own site would sign it. */
export function customerToken({ folder }: Stack, { token_key }: DemoPartner): Promise<string> {
  const config = parseConfig(serviceEnvironment(folder, process.env));
  return signUserToken(token_key, CUSTOMER, '1d', config);
}
