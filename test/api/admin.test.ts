/** `headrace admin …`, as an operator runs it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStorageIssuer } from '../../api/provisioning/provision-partner.ts';
import { createTokenKeyStore } from '../../api/stores/token-keys.ts';
import { createAudienceStore } from '../../pipeline/stores/audiences.ts';
import { createCounterStore } from '../../pipeline/stores/counters.ts';
import { connectMongo } from '../../pipeline/stores/mongo.ts';
import { parseConfig } from '../../schemas/config.ts';
import { collections } from '../../schemas/documents.ts';
import type { PartnerDocument } from '../../schemas/partner-documents.ts';
import { runHeadrace } from '../support/run-headrace.ts';
import { impatient } from '../support/settings.ts';
import { withOwnBucket } from '../support/stack.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { adminCommands } from './admin-commands.ts';

let env: Record<string, string>;
// biome-ignore lint/suspicious/noExplicitAny: what the command printed
let made: any;
const { run, json, refused, misused } = adminCommands(() => env);

beforeAll(async () => {
  env = { ...(await withOwnBucket()), AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' };
  made = await json('partner', 'create', '--name', 'Acme');
});
const configOf = (environment: Record<string, string>) =>
  parseConfig(
    Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('HEADRACE_'))),
  );
afterAll(async () => {
  const config = configOf(env);
  const mongo = await connectMongo(config);
  const issuer = createStorageIssuer(config, createCounterStore(mongo.db));
  for (const partner of await mongo.db.collection<PartnerDocument>(collections.partners).find().toArray())
    await issuer.revoke({ id: partner._id, ...partner });
  await mongo.db.dropDatabase();
  await mongo.close();
});

describe('partner', () => {
  it('create --json: id, API key and storage', () => {
    expect(made).toEqual({
      partner_id: expect.stringMatching(/^p-[a-z0-9]{12}$/),
      api_key: expect.stringMatching(/^hr_[a-z0-9]{8}_[A-Za-z0-9_-]{43}$/),
      s3: {
        endpoint: env.HEADRACE_S3_ENDPOINT,
        region: env.HEADRACE_S3_REGION,
        bucket: env.HEADRACE_S3_BUCKET,
        prefix: `${made.partner_id}/`,
        access_key_id: expect.any(String),
        secret_access_key: expect.any(String),
      },
    });
  });

  it('list', async () => {
    expect(await json('partner', 'list')).toMatchObject([{ partner_id: made.partner_id, name: 'Acme' }]);
    const { stdout } = await run('partner', 'list');
    expect(stdout).toContain(made.partner_id);
    expect(stdout).not.toContain(made.api_key);
  });
});

it('what partners wrote does not command the terminal', async () => {
  const hostile = 'a\x1b]0;b\x07\u009b2J\u202e';
  for (const name of [hostile, 'a\u009b', 'a\u2066'])
    expect((await run('partner', 'create', '--name', name)).stderr).toContain('control character');
  const partner = made.partner_id;
  const path = `${hostile}\nc`;
  const mongo = await connectMongo(configOf(env));
  const jobs = mongo.db.collection<{ _id: number }>(collections.jobs);
  await jobs.insertOne({
    ...{ _id: 1, kind: 'import', partner, phase: 'accepted', status: 0, filePath: path, fileCount: 0 },
    ...{ filesDone: 0, rows: 0, uniqueDevices: 0, createdAt: new Date(), updatedAt: new Date() },
  } as { _id: number });
  const { stdout } = await run('job', 'list');
  expect(stdout.split('\n')[1]).toContain('a\\u001b]0;b\\u0007\\u009b2J\\u202e\\u000ac');
  const asJson = await run('job', 'list', '--json');
  expect(asJson.stdout).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(asJson.stdout)).toMatchObject([{ file_path: path }]);
  await jobs.deleteOne({ _id: 1 });
  await mongo.close();
});

describe('key', () => {
  it('create, list, revoke', async () => {
    const second = await json('key', 'create', '--partner', made.partner_id, '--label', 'nightly');
    expect(second.api_key.startsWith(second.key)).toBe(true);
    await json('key', 'revoke', '--yes', '--key', second.key);
    const listed = await json('key', 'list', '--partner', made.partner_id);
    expect(listed).toMatchObject([
      { key: made.api_key.slice(0, 11), revoked_at: null },
      { key: second.key, label: 'nightly', revoked_at: expect.any(String) },
    ]);
    expect(await refused('key', 'revoke', '--yes', '--key', 'hr_nothere1')).toContain(
      'no API key hr_nothere1',
    );
    expect(await refused('key', 'create', '--partner', 'p-none')).toContain('no partner p-none');
  });
});

describe('attribute', () => {
  it('create, list, associate; what is taken is said', async () => {
    const plain = await json('attribute', 'create', '--partner', made.partner_id, '--name', 'Red');
    expect(plain).toEqual({
      attribute_id: expect.any(Number),
      name: 'Red',
      partner_foreign_key: null,
      visibility: 'public',
    });
    const keyed = await json(
      'attribute',
      'create',
      '--partner',
      made.partner_id,
      '--name',
      'Blue',
      '--foreign-key',
      'b',
      '--private',
    );
    expect(keyed).toMatchObject({ partner_foreign_key: 'b', visibility: 'private' });
    const id = String(plain.attribute_id);
    expect(await refused('attribute', 'associate', '--attribute', id, '--foreign-key', 'b')).toContain(
      'another attribute',
    );
    const now = await json('attribute', 'associate', '--attribute', id, '--foreign-key', 'r');
    expect(now).toEqual({ ...plain, partner_foreign_key: 'r' });
    expect(await refused('attribute', 'associate', '--attribute', id, '--foreign-key', 'x')).toContain(
      'it cannot be changed',
    );
    expect(await refused('attribute', 'associate', '--attribute', '99999', '--foreign-key', 'x')).toContain(
      'no attribute 99999',
    );
    expect(await json('attribute', 'list', '--partner', made.partner_id)).toEqual([now, keyed]);
    const visibility = ['attribute', 'visibility', '--attribute', id] as const;
    expect(await json(...visibility, '--private')).toEqual({ ...now, visibility: 'private' });
    expect(await misused(...visibility)).toContain('expected --public or --private');
    expect(await misused(...visibility, '--public', '--private')).toContain('cannot be used with');
  });

  it('import: many at once; again, those that have a foreign key are not created twice', async () => {
    const partner = (await json('partner', 'create', '--name', 'Many')).partner_id;
    const file = join(temporaryFolder(), 'attributes.csv');
    const load = () => json('attribute', 'import', file, '--partner', partner);
    const rows = Array.from({ length: 2_500 }, (_, i) => `"Fans, ${i}",fk-${i}\r\n`);
    writeFileSync(file, `\ufeffname,foreign_key\r\n${rows.join('')}`);
    const { created, existing, attributes } = await load();
    expect([created, existing]).toEqual([2_500, 0]);
    expect(attributes.at(-1)).toMatchObject({ name: 'Fans, 2499', partner_foreign_key: 'fk-2499' });
    expect(await json('attribute', 'list', '--partner', partner)).toEqual(attributes);

    writeFileSync(file, 'without a key\n"Fans, 7",fk-7\nnew,fk-new\n');
    expect(await load()).toMatchObject({ created: 2, existing: 1 });
    expect(await json('attribute', 'list', '--partner', partner)).toHaveLength(2_502);

    writeFileSync(file, 'a,k\n\n,x\nb,k\nOther,fk-8\nc,d,e\n');
    const refusal = await refused('attribute', 'import', file, '--partner', partner);
    for (const said of [
      'nothing was created',
      'line 3: the name',
      'line 4: line 1 has',
      'line 6: expected two',
    ])
      expect(refusal).toContain(said);
    writeFileSync(file, 'good,k\nOther,fk-8\n');
    expect(await refused('attribute', 'import', file, '--partner', partner)).toMatch(
      /line 2: attribute \d+ \(Fans, 8\) has the foreign key fk-8/,
    );
    expect(await refused('attribute', 'import', `${file}.none`, '--partner', partner)).toContain(
      'cannot read',
    );
    expect(await json('attribute', 'list', '--partner', partner)).toHaveLength(2_502);
  });

  it('import: any delimiter of data files, no other and no mixture; duplicate names give a warning', async () => {
    const partner = (await json('partner', 'create', '--name', 'Delimited')).partner_id;
    const file = join(temporaryFolder(), 'attributes.csv');
    const load = (text: string) => {
      writeFileSync(file, text);
      return json('attribute', 'import', file, '--partner', partner);
    };
    const refusal = (text: string) => {
      writeFileSync(file, text);
      return refused('attribute', 'import', file, '--partner', partner);
    };
    for (const [i, delimiter] of [',', ';', '\t', '|'].entries())
      expect(await load(`name${delimiter}foreign_key\nN${i}${delimiter}k${i}\n`)).toMatchObject({
        created: 1,
        warnings: [],
        attributes: [{ name: `N${i}`, partner_foreign_key: `k${i}` }],
      });
    expect(await load('"Rock; Pop",rock\n')).toMatchObject({ attributes: [{ name: 'Rock; Pop' }] });
    for (const odd of ['name:foreign_key\nA:a\n', 'name foreign_key\nA a\n'])
      expect(await refusal(odd)).toContain('unknown delimiter in name');
    expect(await refusal('A,a\nB;b\n')).toContain(
      'line 2: contains a semicolon, but columns are separated by comma: quote the name',
    );

    const { created, warnings, attributes } = await load('Twin,t1\nTwin,t2\nN1\nN1,k1\n');
    expect(created).toBe(3);
    expect(attributes).toHaveLength(4);
    expect(warnings).toEqual([
      'line 2: line 1 has the same name, Twin',
      expect.stringMatching(/^line 3: attribute \d+ has the same name, N1$/),
    ]);
    const { stdout } = await run('attribute', 'import', file, '--partner', partner);
    expect(stdout).toMatch(
      /^warning: line 3: [^\n]+ N1\ncreated 1 attribute, 0 with a foreign key; 3 already existed\n$/,
    );
  });
});

describe('user-token', () => {
  const partnerOf = () => ['--partner', made.partner_id];
  const signed = async (secret: string, ...args: string[]) => {
    const { user_token } = await json('user-token', ...partnerOf(), '--customer', 'C', ...args);
    const { payload, protectedHeader } = await jwtVerify(user_token, new TextEncoder().encode(secret));
    return { payload, kid: protectedHeader.kid, seconds: payload.exp! - payload.iat!, user_token };
  };

  it('is signed with the newest key of the partner that is not retired, for an hour unless asked otherwise', async () => {
    expect(await refused('user-token', ...partnerOf(), '--customer', 'C')).toContain(
      `headrace admin token-key create --partner ${made.partner_id}`,
    );
    const first = await json('token-key', 'create', ...partnerOf(), '--label', 'portal');
    expect(first).toEqual({
      partner_id: made.partner_id,
      key: expect.stringMatching(/^tk_[a-z0-9]{8}$/),
      secret: expect.stringMatching(/^tksec_[\w-]{43}$/),
      issuer: made.partner_id,
      audience: 'headrace',
    });
    const { payload, ...rest } = await signed(first.secret, '--expires-in', '2h');
    expect(payload).toMatchObject({ iss: made.partner_id, aud: 'headrace', customer: 'C' });
    expect(rest).toMatchObject({ kid: first.key, seconds: 7_200 });

    const second = await json('token-key', 'rotate', '--key', first.key);
    expect(second).toMatchObject({ partner_id: made.partner_id, replaces: first.key });
    expect(await signed(second.secret)).toMatchObject({ kid: second.key, seconds: 3_600 });
    expect(await refused('token-key', 'rotate', '--key', first.key)).toContain(`rotated to ${second.key}`);
    expect(await refused('token-key', 'retire', '--yes', '--key', 'tk_nothere1')).toContain(
      'no token key tk_nothere1',
    );
    const retired = await json('token-key', 'retire', '--yes', '--key', second.key);
    const listed = await json('token-key', 'list', ...partnerOf());
    expect(listed).toMatchObject([
      { key: first.key, label: 'portal', rotated_to: second.key, retired_at: null },
      { key: second.key, label: 'portal', rotated_to: null, retired_at: retired.retired_at },
    ]);
    expect(retired.retired_at).toEqual(expect.any(String));
    expect(JSON.stringify(listed)).not.toContain('tksec_');
    expect(await signed(first.secret)).toMatchObject({ kid: first.key });

    const forever = ['--customer', 'C', '--expires-in', '8d'];
    expect(await refused('user-token', ...partnerOf(), ...forever)).toContain('at most 7 days');
    const soon = ['--customer', 'C', '--expires-in', 'soon'];
    expect(await misused('user-token', ...partnerOf(), ...soon)).toContain('30m, 24h or 90d');
  });

  it('is in the link to a segment of the customer and of nobody else, for a day unless asked otherwise', async () => {
    const audience = {
      kind: 'audience',
      _id: 5,
      audience: 5,
      createdAt: new Date(),
      audienceName: 'n',
    } as const;
    const mongo = await connectMongo(configOf(env));
    await createAudienceStore(mongo.db).ensure({ ...audience, partner: made.partner_id, customer: 'C' });
    const { secret } = await createTokenKeyStore(mongo.db).create(configOf(env).secret, made.partner_id);
    await mongo.close();
    expect(await signed(secret, '--segment', '10000005')).toMatchObject({ seconds: 86_400 });
    const of = (customer: string) => [...partnerOf(), '--customer', customer, '--segment', '10000005'];
    const { user_token, console_url } = await json('user-token', ...of('C'), '--expires-in', '1h');
    expect(console_url).toBe(`http://127.0.0.1:8080/console/segments/10000005?token=${user_token}`);
    expect(decodeJwt(user_token).exp! - decodeJwt(user_token).iat!).toBe(3_600);
    expect(await refused('user-token', ...of('D'))).toContain('no segment 10000005');
  });
});

describe('a command that cannot work', () => {
  it('says so in one message: a missing option, a wrong configuration, a database that is away', async () => {
    const missing = await run('partner', 'create');
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("'--name <name>'")]);
    const wrong = await runHeadrace(['admin', 'partner', 'list'], { ...env, HEADRACE_SECRET: 'short' });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('HEADRACE_SECRET')]);
    const away = await runHeadrace(['admin', 'partner', 'list'], {
      ...env,
      ...impatient,
      HEADRACE_MONGO_URL: 'mongodb://127.0.0.1:1/?directConnection=true',
    });
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('MongoDB does not answer')]);
    expect(away.stderr.trim().split('\n')).toHaveLength(1);
  });
});
