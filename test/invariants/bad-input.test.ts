/** Bad input never stops the flow: each kind has its own code, memory stays bounded, and the next good job loads. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Binary } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVersitygwAdmin } from '../../api/provisioning/versitygw-issuer.ts';
import type { ImportRequest } from '../../pipeline/accept/new-job.ts';
import { readTopic } from '../../pipeline/kafka/read-topic.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { sealCredentials } from '../../pipeline/sources/credentials.ts';
import type { JobDocument } from '../../schemas/job-documents.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { type TopicKey, topics } from '../../schemas/topics.ts';
import { createDriver, type Driver } from '../support/driver.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { type OwnService, servers, startService } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';

let service: OwnService;
let driver: Driver;
let partner: PartnerDocument;
let attribute: number;
beforeAll(async () => {
  service = await startService({ parts: ['pipeline'] });
  driver = await createDriver(service.config);
  partner = await driver.partner();
  attribute = await driver.attribute(partner);
});
afterAll(async () => {
  await driver?.close();
  await service?.stop();
});

async function stillLoads(): Promise<void> {
  const devices = ids(200);
  const own = await driver.attribute(partner);
  await driver.upload(partner, 'good.csv', file(devices, own));
  const job = await driver.ended(await driver.import(partner, 'good.csv'));
  expect(job).toMatchObject({ status: 2, uniqueDevices: 200, errors: null });
  expect(await driver.members(setNames.attribute(own))).toEqual(asMembers(devices));
}

/** The peak memory (VmHWM) of the pipeline's process. */
function peakMegabytes(): number {
  const status = readFileSync(`/proc/${service.pipeline.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}

async function failsWith(code: string, name: string, body: Buffer | string, line?: number): Promise<void> {
  await driver.upload(partner, name, body);
  const job = await driver.ended(await driver.import(partner, name));
  const where = { file: partner.prefix + name, ...(line === undefined ? {} : { line }) };
  expect(job, name).toMatchObject({ status: 3, errors: [{ code, ...where }], uniqueDevices: 0, rows: 0 });
  expect(await driver.sets.count(setNames.attribute(attribute)), name).toBe(0);
}

describe('files', () => {
  const row = () => file(ids(1), attribute);

  it('each fails with its own code, and leaves nothing behind', async () => {
    await failsWith(
      'not_text',
      'picture.png',
      Buffer.concat([Buffer.from('\x89PNG\r\n', 'latin1'), randomBytes(200_000)]),
      1,
    );
    await failsWith('not_text', 'gzip.csv', gzipSync(row()), 1);
    await failsWith('not_text', 'latin1.csv', Buffer.from(`${row()}caf\u00e9,1\n`, 'latin1'), 2);
    await failsWith('empty_file', 'empty.csv', '');
    await failsWith('empty_file', 'header.csv', 'device_id,attribute\r\n');
    await failsWith('empty_file', 'blank.csv', '\ufeff\n\r\n \t\n');
    await failsWith('line_too_long', 'long.csv', `${row()}${'x'.repeat(1 << 20)}\n${row()}`, 2);
    await failsWith('line_too_long', 'quoted.csv', `${row()}"${'x\n'.repeat(1 << 19)}\n${row()}`, 2);
    await failsWith('bad_gzip', 'plain.csv.gz', row());
    await failsWith('bad_gzip', 'empty.csv.gz', '');
    await failsWith('bad_gzip', 'cut.csv.gz', gzipSync(file(ids(5_000), attribute)).subarray(0, -20));
    await failsWith('bad_gzip', 'more.csv.gz', Buffer.concat([gzipSync(row()), Buffer.from('and more')]));
    await stillLoads();
  });

  it('a file that unpacks to 10 GB is refused early and in little memory', async () => {
    const row = file(ids(1), attribute);
    const member = gzipSync(row.repeat(Math.ceil(64e6 / row.length)));
    const bomb = Buffer.concat(Array.from({ length: 160 }, () => member));
    await failsWith('gzip_ratio', 'bomb.csv.gz', bomb);
    await failsWith('gzip_ratio', 'zeros.csv.gz', gzipSync(Buffer.alloc(200e6, '\n')));
    expect(peakMegabytes()).toBeLessThan(700);
    await stillLoads();
  });
});

interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

describe('storage of the partner’s own', () => {
  const secrets: string[] = [];

  /** A storage user without any permission. */
  async function makeUser(credentials: Credentials): Promise<void> {
    const { endpoint, region, ...root } = servers().s3;
    await createVersitygwAdmin({ endpoint, region, credentials: root }).createUser(credentials);
  }

  async function fromBucket(
    path: string,
    credentials: Credentials,
    region = servers().s3.region,
  ): Promise<JobDocument> {
    secrets.push(credentials.secretAccessKey);
    const { secret } = service.config;
    const seal = (_id: number) => sealCredentials(secret, { _id, partner: partner._id }, credentials);
    const options: Partial<ImportRequest> = { pathType: 1, credentials: seal, region };
    return driver.ended(await driver.import(partner, path, options));
  }

  it('credentials that cannot be opened end their job, and nothing else', async () => {
    const { accessKeyId, secretAccessKey } = servers().s3;
    const keys = { accessKeyId, secretAccessKey };
    const { secret } = service.config;
    const path = `s3://${servers().s3.bucket}/a.csv`;
    const owner = { partner: partner._id };
    const spoiled: ((_id: number) => Binary)[] = [
      (_id) => sealCredentials(randomBytes(32), { ...owner, _id }, keys),
      (_id) => sealCredentials(secret, { ...owner, _id: _id + 1 }, keys),
      (_id) => sealCredentials(secret, { partner: 'p-other', _id }, keys),
      () => new Binary(Buffer.from('nothing')),
    ];
    for (const credentials of spoiled) {
      const job = await driver.import(partner, path, {
        pathType: 1,
        credentials,
        region: servers().s3.region,
      });
      const ended = await driver.ended(job);
      expect(ended).toMatchObject({ status: 3, errors: [{ code: 'bad_credentials' }] });
      expect(ended.errors![0]!.message).toContain('cannot be decrypted');
    }
    await stillLoads();
  });

  it('each refusal has its own code, a good bucket loads, and no secret is left anywhere', async () => {
    const { accessKeyId, secretAccessKey } = servers().s3;
    const good = { accessKeyId, secretAccessKey };
    const bucket = `own-${randomBytes(6).toString('hex')}`;
    const devices = ids(300);
    const own = await driver.attribute(partner);
    await driver.makeBucket(bucket);
    await driver.uploadTo(bucket, 'deep/a.csv', file(devices, own));
    const stranger = { accessKeyId: `user-${bucket}`, secretAccessKey: randomBytes(20).toString('hex') };
    await makeUser(stranger);

    const path = `s3://${bucket}/deep/a.csv`;
    expect(await fromBucket(path, good)).toMatchObject({ status: 2, uniqueDevices: 300, errors: null });
    expect(await driver.members(setNames.attribute(own))).toEqual(asMembers(devices));
    expect(await fromBucket(path, stranger)).toMatchObject({
      status: 3,
      errors: [{ code: 'access_denied' }],
    });
    const wrong = { accessKeyId, secretAccessKey: randomBytes(20).toString('hex') };
    expect(await fromBucket(path, wrong)).toMatchObject({ errors: [{ code: 'bad_credentials' }] });
    const nobody = { accessKeyId: 'nobody', secretAccessKey: randomBytes(20).toString('hex') };
    expect(await fromBucket(path, nobody)).toMatchObject({ errors: [{ code: 'bad_credentials' }] });
    expect(await fromBucket(`s3://no-${bucket}/a.csv`, good)).toMatchObject({
      errors: [{ code: 'no_such_bucket' }],
    });
    expect(await fromBucket(path, good, 'eu-west-3')).toMatchObject({ errors: [{ code: 'wrong_region' }] });
    expect(await fromBucket(`s3://${bucket}/other.csv`, good)).toMatchObject({
      errors: [{ code: 'no_files' }],
    });
    await stillLoads();

    expect(await driver.jobs.countDocuments({ credentials: { $exists: true, $ne: null } })).toBe(0);
    const log = createLogger({ logLevel: 'silent' }, 'test');
    let read = 0;
    for (const topic of Object.keys(topics) as TopicKey[]) {
      await readTopic(service.config, log, topic, ({ value }) => {
        read++;
        for (const secret of secrets) expect(value!.includes(secret), topic).toBe(false);
      });
    }
    expect(read).toBeGreaterThan(0);
    const written = readFileSync(service.log('pipeline'), 'utf8');
    for (const { name } of await driver.db.listCollections().toArray()) {
      const documents = JSON.stringify(await driver.db.collection(name).find().toArray());
      for (const secret of secrets) expect(documents.includes(secret), name).toBe(false);
    }
    for (const secret of secrets) expect(written.includes(secret)).toBe(false);
  });
});
