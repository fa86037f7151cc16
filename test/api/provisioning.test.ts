/** A partner's storage credentials are real, and valid for its own prefix only. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStorageIssuer, provisionPartner } from '../../api/provisioning/provision-partner.ts';
import { type ApiStores, createApiStores } from '../../api/stores/api-stores.ts';
import { connectMongo, type Mongo } from '../../pipeline/stores/mongo.ts';
import { type Config, parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import type { ApiKeyDocument, PartnerDocument } from '../../schemas/partner-documents.ts';
import { type IssuedPartner, storageOf } from '../support/run-headrace.ts';
import { withOwnBucket } from '../support/stack.ts';

let config: Config;
let mongo: Mongo;
let stores: ApiStores;
let one: Awaited<ReturnType<typeof provisionPartner>>;
let two: typeof one;
beforeAll(async () => {
  config = parseConfig(await withOwnBucket());
  mongo = await connectMongo(config);
  stores = createApiStores(mongo.db);
  // Concurrently: the bucket's policy is one document, and neither write may overwrite the other.
  [one, two] = await Promise.all([
    provisionPartner(stores, config, 'One'),
    provisionPartner(stores, config, 'Two'),
  ]);
});
afterAll(async () => {
  const issuer = createStorageIssuer(config, stores.counters);
  for (const partner of await mongo.db.collection<PartnerDocument>(collections.partners).find().toArray())
    await issuer.revoke({ id: partner._id, ...partner });
  await mongo.db.dropDatabase();
  await mongo.close();
});

const clientOf = (partner: typeof one) => storageOf((partner as IssuedPartner).s3);
const Bucket = () => one.s3.bucket;
const put = (who: typeof one, Key: string, Body = 'x') =>
  clientOf(who).send(new PutObjectCommand({ Bucket: Bucket(), Key, Body }));
const get = async (who: typeof one, Key: string) =>
  (await clientOf(who).send(new GetObjectCommand({ Bucket: Bucket(), Key }))).Body!.transformToString();
const list = async (who: typeof one, Prefix?: string) =>
  (await clientOf(who).send(new ListObjectsV2Command({ Bucket: Bucket(), Prefix }))).Contents?.map(
    ({ Key }) => Key,
  );
const denied = { $metadata: expect.objectContaining({ httpStatusCode: 403 }) };

describe('a partner’s credentials', () => {
  it('write, read, list and delete under the own prefix', async () => {
    const key = `${one.s3.prefix}day/devices.csv`;
    await put(one, key, 'mine');
    expect(await get(one, key)).toBe('mine');
    expect(await list(one, one.s3.prefix)).toEqual([key]);
    expect(await list(one, `${one.s3.prefix}day/`)).toEqual([key]);
    await clientOf(one).send(new DeleteObjectCommand({ Bucket: Bucket(), Key: key }));
    expect(await list(one, one.s3.prefix)).toBeUndefined();
  });

  it('do nothing under another’s prefix, nor beside it, nor at the top', async () => {
    const theirs = `${two.s3.prefix}secret.csv`;
    await put(two, theirs, 'secret');
    const alike = `${one.s3.prefix.slice(0, -1)}x/a.csv`;
    for (const key of [theirs, alike, 'top.csv']) await expect(put(one, key)).rejects.toMatchObject(denied);
    await expect(get(one, theirs)).rejects.toMatchObject(denied);
    await expect(
      clientOf(one).send(new DeleteObjectCommand({ Bucket: Bucket(), Key: theirs })),
    ).rejects.toMatchObject(denied);
    await expect(list(one, two.s3.prefix)).rejects.toMatchObject(denied);
    await expect(list(one)).rejects.toMatchObject(denied);
    await expect(list(one, '')).rejects.toMatchObject(denied);
    await expect(get(one, `${one.s3.prefix}../${theirs}`)).rejects.toThrow();
    await expect(put(one, `${one.s3.prefix}../top.csv`)).rejects.toThrow();
    expect(await get(two, theirs)).toBe('secret');
  });

  it('end when they are revoked, and the other’s do not', async () => {
    const partners = mongo.db.collection<PartnerDocument>(collections.partners);
    const three = await provisionPartner(stores, config, 'Three');
    await put(three, `${three.s3.prefix}a`);
    const stored = (await partners.findOne({ _id: three.partner_id }))!;
    await createStorageIssuer(config, stores.counters).revoke({ id: stored._id, ...stored });
    await partners.deleteOne({ _id: stored._id });
    await expect(get(three, `${three.s3.prefix}a`)).rejects.toThrow();
    await put(two, `${two.s3.prefix}still`);
  });
});

describe('HEADRACE_S3_ISSUER', () => {
  it('manual: makes the partner, and gives the policy instead of keys', async () => {
    const { s3, partner_id } = await provisionPartner(stores, { ...config, s3Issuer: 'manual' }, 'Five');
    expect(s3).toMatchObject({ prefix: `${partner_id}/`, access_key_id: null, secret_access_key: null });
    expect(JSON.stringify(s3)).toContain(`arn:aws:s3:::${config.s3Bucket}/${s3.prefix}*`);
    await mongo.db.collection<PartnerDocument>(collections.partners).deleteOne({ _id: partner_id });
    await mongo.db.collection<ApiKeyDocument>(collections.apiKeys).deleteMany({ partner: partner_id });
  });

  it('is named where it cannot be right', async () => {
    await expect(provisionPartner(stores, { ...config, s3Issuer: 'aws' }, 'Six')).rejects.toThrow(
      /^HEADRACE_S3_ISSUER: expected versitygw or manual, because HEADRACE_S3_ENDPOINT .* is not AWS$/,
    );
    const { s3AccessKeyId: _, ...keyless } = config;
    await expect(provisionPartner(stores, keyless, 'Seven')).rejects.toThrow(
      /^HEADRACE_S3_ISSUER: versitygw needs/,
    );
    const wrong = { ...config, s3SecretAccessKey: 'wrong' };
    await expect(provisionPartner(stores, wrong, 'Eight')).rejects.toThrow(
      /^the partner was not created: HEADRACE_S3_ISSUER is versitygw/,
    );
  });
});

describe('a partner that cannot be made', () => {
  it('leaves nothing behind', async () => {
    const before = await mongo.db.collection(collections.partners).countDocuments();
    const failing = {
      issue: async () => {
        throw new Error('no');
      },
      revoke: async () => {},
    };
    await expect(provisionPartner(stores, config, 'Four', failing)).rejects.toThrow(/was not created/);
    await expect(provisionPartner(stores, config, ' ')).rejects.toThrow(/name/);
    expect(await mongo.db.collection(collections.partners).countDocuments()).toBe(before);
    const partners = await mongo.db.collection<PartnerDocument>(collections.partners).find().toArray();
    const keys = await mongo.db.collection<ApiKeyDocument>(collections.apiKeys).find().toArray();
    const known = partners.map(({ _id }) => _id);
    expect(keys.filter(({ partner }) => !known.includes(partner)).map(({ label }) => label)).toEqual([
      'first',
    ]);
  });
});
