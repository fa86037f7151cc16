/** The service with brokers and a MongoDB that require TLS and a login, and its messages when they refuse it. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CryptoKey, generateKeyPair, importJWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ensureCertificates, signCertificate } from '../../deploy/local/certificates.ts';
import { sslOf } from '../../deploy/local/kafka.ts';
import { mongoUrl } from '../../deploy/local/mongod.ts';
import { kafkaLogin, passwordOf, superUser, tlsFolder, tokenAudience } from '../../deploy/local/security.ts';
import { requireBrokers } from '../../pipeline/kafka/cluster.ts';
import { ensureTopics } from '../../pipeline/kafka/topics.ts';
import { StartRefused } from '../../pipeline/runtime/errors.ts';
import { createLogger } from '../../pipeline/runtime/log.ts';
import { connectMongo, requireReplicaSet } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { type OwnServers, startOwnServers } from '../faults/support/servers.ts';
import { createDriver } from '../support/driver.ts';
import { asMembers, file, ids } from '../support/rows.ts';
import { runHeadrace } from '../support/run-headrace.ts';
import { runHere } from '../support/run-here.ts';
import { impatient } from '../support/settings.ts';
import { servers, startService, uniqueEnvironment, withOwnBucket } from '../support/stack.ts';
import { setNames } from '../support/stored-sets.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { grantKafka, grantMongo } from './granted-rights.ts';
import { listenExpired, serveTokens } from './other-listeners.ts';

type Settings = Record<string, string | undefined>;

let own: OwnServers;
/** Settings for Kafka and MongoDB with a superuser's login. */
let secure: Record<string, string>;
let sslBroker: string;
const noLogin = {
  HEADRACE_KAFKA_SASL_MECHANISM: undefined,
  HEADRACE_KAFKA_SASL_USERNAME: undefined,
  HEADRACE_KAFKA_SASL_PASSWORD: undefined,
};

const anyPorts = {
  HEADRACE_API_PORT: '0',
  HEADRACE_API_METRICS_PORT: '0',
  HEADRACE_PIPELINE_PORT: '0',
};

beforeAll(async () => {
  own = await startOwnServers({ shared: { addresses: servers(), own: ['kafka', 'mongod'] }, secure: true });
  const { kafkaBrokers, mongoUrl, logins } = own.addresses;
  secure = { HEADRACE_KAFKA_BROKERS: kafkaBrokers.join(), HEADRACE_MONGO_URL: mongoUrl, ...logins };
  sslBroker = `127.0.0.1:${own.folder.state.ports[sslOf('kafka')]}`;
});
afterAll(() => own?.close());

const log = createLogger({ logLevel: 'silent' }, 'test');
/** Undefined settings are omitted. */
const secured = (settings: Settings = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...secure, ...settings }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>;
const configOf = (settings: Settings) =>
  parseConfig({ ...uniqueEnvironment(), ...impatient, ...secured(settings) });
const askKafka = (settings: Settings) => requireBrokers(configOf(settings), log);
async function askMongo(settings: Settings): Promise<void> {
  const mongo = await connectMongo(configOf(settings));
  await requireReplicaSet(mongo).finally(mongo.close);
}
/** Like the service, retries if a server is too slow to answer. */
const refusal = (ask: () => Promise<unknown>): Promise<string> =>
  waitFor(
    () =>
      ask().then(
        () => 'not refused',
        (error) => {
          if (error instanceof StartRefused) return error.message;
          throw error;
        },
      ),
    { what: 'a refusal' },
  );
const letIn = (ask: () => Promise<unknown>) =>
  waitFor(() => ask().then(() => true), { what: 'to be let in' });
const withCertificate = (name = 'client', folder = tlsFolder(own.folder)) => ({
  ...noLogin,
  HEADRACE_KAFKA_BROKERS: sslBroker,
  HEADRACE_KAFKA_TLS_CERT_FILE: join(folder, `${name}.crt`),
  HEADRACE_KAFKA_TLS_KEY_FILE: join(folder, `${name}.key`),
});

test('an import with a certificate at the brokers', async () => {
  const service = await startService({ env: secured(withCertificate()) });
  onTestFinished(() => service.stop());
  const driver = await createDriver(service.config);
  onTestFinished(() => driver.close());
  const partner = await driver.partner();
  const devices = ids(1_000);
  const attribute = await driver.attribute(partner);
  await driver.upload(partner, 'a.csv', file(devices, attribute));
  const job = await driver.ended(await driver.import(partner, 'a.csv'));
  expect(job).toMatchObject({ status: 2, uniqueDevices: devices.length });
  expect(await driver.members(setNames.attribute(attribute))).toEqual(asMembers(devices));
});

describe('with passwords at the brokers and at MongoDB, and no more rights than deploy/README.md lists', () => {
  test('admin makes a partner, the API accepts a job, the pipeline imports it, an operator looks at it', async () => {
    const names = await withOwnBucket();
    const superUsers = parseConfig({ ...names, ...secure });
    await grantKafka(superUsers);
    await grantMongo(superUsers, own.folder);
    const as = (user: string) => ({
      ...names,
      ...secure,
      ...kafkaLogin(own.folder, user),
      HEADRACE_MONGO_URL: mongoUrl(own.folder, user),
    });
    const noStorageKeys = { HEADRACE_S3_ACCESS_KEY_ID: undefined, HEADRACE_S3_SECRET_ACCESS_KEY: undefined };
    const api = await startService({ env: { ...as('api'), ...noStorageKeys }, parts: ['api'] });
    onTestFinished(() => api.stop());
    const pipeline = await startService({ env: as('pipeline'), parts: ['pipeline'] });
    onTestFinished(() => pipeline.stop());
    const run = async (user: string, ...command: string[]) => {
      const { code, stdout, stderr } = await runHere(command, as(user));
      expect([code, stderr.includes('HEADRACE_')], `${command.join(' ')}: ${stderr}`).toEqual([0, false]);
      return stdout;
    };

    const partner = JSON.parse(await run('admin', 'admin', 'partner', 'create', '--name', 'A', '--json'));
    const [id, path] = [partner.partner_id as string, `${partner.s3.prefix}a.csv`];
    const created = await run(
      'admin',
      'admin',
      'attribute',
      'create',
      '--partner',
      id,
      '--name',
      'B',
      '--json',
    );
    const driver = await createDriver(superUsers);
    onTestFinished(() => driver.close());
    const devices = ids(100);
    const { attribute_id } = JSON.parse(created);
    await driver.uploadTo(superUsers.s3Bucket, path, file(devices, attribute_id));
    const headers = { authorization: `Bearer ${partner.api_key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ file_path: 'a.csv', key_type: 0 });
    const answer = await fetch(`${api.apiUrl}/v1/marketplace/import`, { method: 'POST', headers, body });
    expect(answer.status).toBe(202);
    const { import_log_id } = (await answer.json()) as { import_log_id: number };
    expect(await driver.ended(import_log_id)).toMatchObject({ status: 2, uniqueDevices: 100 });
    expect(await driver.members(setNames.attribute(attribute_id))).toEqual(asMembers(devices));
    await run('operator', 'topics');
    expect(await run('operator', 'tap', 'jobs', '--partner', id)).toContain(`"job":${import_log_id}`);
    await run('operator', 'replay', '--job', String(import_log_id), '--dry-run');
    await run('operator', 'replay', '--job', String(import_log_id), '--yes');
  });

  test('a user who lacks one is told which', async () => {
    const config = parseConfig({ ...uniqueEnvironment(), ...secure, ...kafkaLogin(own.folder, 'api') });
    expect(await refusal(() => ensureTopics(config, log))).toMatch(
      /^HEADRACE_KAFKA_SASL_USERNAME=api: the brokers do not permit what is needed \(TOPIC_AUTHORIZATION_FAILED/,
    );
  });
});

describe('the brokers let us in', () => {
  test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])('with %s', async (mechanism) => {
    await letIn(() => askKafka({ HEADRACE_KAFKA_SASL_MECHANISM: mechanism }));
  });

  test('with the token that an OAuth server gives for client credentials', async () => {
    const key = await importJWK(JSON.parse(readFileSync(join(tlsFolder(own.folder), 'tokens.json'), 'utf8')));
    const signToken = (signer: CryptoKey | Uint8Array) =>
      new SignJWT({ scope: 'kafka' })
        .setProtectedHeader({ alg: 'ES256', kid: 'tokens' })
        .setSubject(superUser)
        .setAudience(tokenAudience)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(signer);
    const url = await serveTokens(async (authorization) =>
      authorization === `Basic ${btoa('client:right')}` ? signToken(key) : undefined,
    );
    const oauth = {
      ...noLogin,
      HEADRACE_KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
      HEADRACE_KAFKA_OAUTH_TOKEN_URL: url,
      HEADRACE_KAFKA_OAUTH_CLIENT_ID: 'client',
      HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: 'right',
    };
    await letIn(() => askKafka(oauth));
    expect(await refusal(() => askKafka({ ...oauth, HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: 'wrong' }))).toMatch(
      /^HEADRACE_KAFKA_OAUTH_CLIENT_ID, HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: .* gives no token \(401, invalid_client\)$/,
    );
    const forged = await signToken((await generateKeyPair('ES256')).privateKey);
    for (const wrong of ['not.a.token', forged]) {
      const url = await serveTokens(async () => wrong);
      expect(await refusal(() => askKafka({ ...oauth, HEADRACE_KAFKA_OAUTH_TOKEN_URL: url }))).toMatch(
        /^HEADRACE_KAFKA_OAUTH_CLIENT_ID: the brokers do not accept its token/,
      );
    }
  });
});

describe('the setting is named, at once, when the brokers', () => {
  test('do not know the user or the password', async () => {
    const message = /^HEADRACE_KAFKA_SASL_USERNAME, HEADRACE_KAFKA_SASL_PASSWORD: wrong user or password/;
    for (const mechanism of ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']) {
      const wrong = { HEADRACE_KAFKA_SASL_MECHANISM: mechanism, HEADRACE_KAFKA_SASL_PASSWORD: 'wrong' };
      expect(await refusal(() => askKafka(wrong)), mechanism).toMatch(message);
    }
    expect(await refusal(() => askKafka({ HEADRACE_KAFKA_SASL_USERNAME: 'nobody' }))).toMatch(message);
  });

  test('want TLS, a login or a certificate, and get none', async () => {
    const broker = secure.HEADRACE_KAFKA_BROKERS;
    const noTls = { HEADRACE_KAFKA_TLS: undefined, HEADRACE_KAFKA_TLS_CA_FILE: undefined };
    const tls = `HEADRACE_KAFKA_TLS: expected 1, because ${broker} speaks TLS`;
    expect(await refusal(() => askKafka(noTls))).toBe(tls);
    expect(await refusal(() => askKafka({ ...noTls, ...noLogin }))).toBe(tls);
    expect(await refusal(() => askKafka(noLogin))).toMatch(
      /^HEADRACE_KAFKA_SASL_MECHANISM: expected .*SCRAM-SHA-512.* wants a login$/,
    );
    expect(await refusal(() => askKafka({ ...noLogin, HEADRACE_KAFKA_BROKERS: sslBroker }))).toMatch(
      /^HEADRACE_KAFKA_TLS_CERT_FILE: .* wants a certificate of ours/,
    );
  });

  test('have neither TLS nor a login, and get them', async () => {
    const plain = { HEADRACE_KAFKA_BROKERS: servers().kafkaBrokers.join() };
    expect(await refusal(() => askKafka(plain))).toMatch(/^HEADRACE_KAFKA_TLS: expected 0/);
    const login = { ...plain, HEADRACE_KAFKA_TLS: undefined, HEADRACE_KAFKA_TLS_CA_FILE: undefined };
    expect(await refusal(() => askKafka(login))).toMatch(
      /^HEADRACE_KAFKA_SASL_MECHANISM: set to SCRAM-SHA-512/,
    );
  });

  test('do not accept our certificate: it has expired, or its CA is unknown', async () => {
    const folder = temporaryFolder();
    cpSync(tlsFolder(own.folder), folder, { recursive: true });
    await signCertificate(folder, { name: 'expired', subject: 'headrace-client', days: -1 });
    const strange = join(folder, 'strange');
    await ensureCertificates(strange, [{ name: 'client', subject: 'headrace-client' }]);
    const message = /^HEADRACE_KAFKA_TLS_CERT_FILE: .* does not accept our certificate/;
    expect(await refusal(() => askKafka(withCertificate('expired', folder)))).toMatch(message);
    expect(await refusal(() => askKafka(withCertificate('client', strange)))).toMatch(message);
  });

  test('show a certificate that has expired, or whose CA is unknown', async () => {
    expect(await refusal(() => askKafka({ HEADRACE_KAFKA_TLS_CA_FILE: undefined }))).toMatch(
      /^HEADRACE_KAFKA_TLS_CA_FILE: the certificate of .* is not signed by a known CA/,
    );
    const broker = await listenExpired(tlsFolder(own.folder));
    expect(await refusal(() => askKafka({ HEADRACE_KAFKA_BROKERS: broker }))).toMatch(
      /^HEADRACE_KAFKA_BROKERS: the certificate of .* is not valid \(.*expired\)$/,
    );
  });

  test.each(['api', 'pipeline', 'topics'])(
    'do not let %s in: it ends with that message alone',
    async (command) => {
      const env = {
        ...uniqueEnvironment(),
        ...anyPorts,
        ...secured({ HEADRACE_KAFKA_SASL_PASSWORD: 'wrong' }),
      };
      const { code, stdout, stderr } = await runHeadrace([command], env);
      const output = stdout + stderr;
      expect(code, output).toBe(1);
      expect(output).toContain(
        'HEADRACE_KAFKA_SASL_USERNAME, HEADRACE_KAFKA_SASL_PASSWORD: wrong user or password',
      );
      expect(output).not.toMatch(/\bat .*\.(ts|js):\d/);
    },
  );
});

describe('the setting is named when MongoDB', () => {
  const url = (change: (url: string) => string) => ({
    HEADRACE_MONGO_URL: change(secure.HEADRACE_MONGO_URL!),
  });
  const withoutTls = (text: string) => text.replace(/&tls=.*/, '');

  test('does not know the user or the password, in the URL or beside it', async () => {
    const message = /^HEADRACE_MONGO_URL, or HEADRACE_MONGO_USERNAME and HEADRACE_MONGO_PASSWORD: wrong user/;
    expect(await refusal(() => askMongo(url((text) => text.replace(/:[^:@]+@/, ':wrong@'))))).toMatch(
      message,
    );
    const apart = url((text) => text.replace(/\/\/.*@/, '//'));
    const login = { ...apart, HEADRACE_MONGO_USERNAME: superUser };
    expect(await refusal(() => askMongo({ ...login, HEADRACE_MONGO_PASSWORD: 'wrong' }))).toMatch(message);
    const right = { ...login, HEADRACE_MONGO_PASSWORD: passwordOf(own.folder, superUser) };
    await letIn(() => askMongo(right));
  });

  test('wants TLS and gets none, or the other way round', async () => {
    expect(await refusal(() => askMongo(url(withoutTls)))).toMatch(/^HEADRACE_MONGO_URL: expected tls=true/);
    const plain = `${servers().mongoUrl}&tls=true`;
    expect(await refusal(() => askMongo({ HEADRACE_MONGO_URL: plain }))).toMatch(
      /^HEADRACE_MONGO_URL: expected tls=false/,
    );
  });

  test('shows a certificate that has expired, or whose CA is unknown', async () => {
    expect(await refusal(() => askMongo(url((text) => `${withoutTls(text)}&tls=true`)))).toMatch(
      /^HEADRACE_MONGO_URL \(tlsCAFile\): the certificate of MongoDB is not signed by a known CA/,
    );
    const expired = await listenExpired(tlsFolder(own.folder));
    expect(await refusal(() => askMongo(url((text) => text.replace(/@[^/]*/, `@${expired}`))))).toMatch(
      /^HEADRACE_MONGO_URL: the certificate of MongoDB is not valid \(.*expired\)$/,
    );
  });

  test('wants a file that is not there', async () => {
    expect(await refusal(() => askMongo(url((text) => text.replace('ca.pem', 'gone.pem'))))).toMatch(
      /^HEADRACE_MONGO_URL: a file in it cannot be read \(ENOENT.*gone\.pem/,
    );
  });
});
