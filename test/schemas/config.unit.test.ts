import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { clientVariables } from '../../schemas/client-variables.ts';
import {
  ConfigError,
  type EnvironmentVariable,
  environmentVariables,
  parseConfig,
} from '../../schemas/config.ts';
import { secretVariables } from '../../schemas/secret-files.ts';
import { readConfigFile } from '../support/env-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const minimal = readConfigFile('minimal.env');
const thisFile = fileURLToPath(import.meta.url);
/** Settings that a secret requires. */
const beside: Record<string, Record<string, string>> = {
  HEADRACE_KAFKA_SASL_PASSWORD: { HEADRACE_KAFKA_SASL_MECHANISM: 'PLAIN', HEADRACE_KAFKA_SASL_USERNAME: 'u' },
  HEADRACE_MONGO_PASSWORD: { HEADRACE_MONGO_USERNAME: 'u' },
  HEADRACE_S3_ACCESS_KEY_ID: { HEADRACE_S3_SECRET_ACCESS_KEY: 'k' },
  HEADRACE_S3_SECRET_ACCESS_KEY: { HEADRACE_S3_ACCESS_KEY_ID: 'k' },
  HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: {
    HEADRACE_KAFKA_SASL_MECHANISM: 'OAUTHBEARER',
    HEADRACE_KAFKA_OAUTH_TOKEN_URL: 'https://login.example.com/token',
    HEADRACE_KAFKA_OAUTH_CLIENT_ID: 'u',
  },
};

/** Variables that accept any text. */
const anyTextGoes: EnvironmentVariable[] = [
  'HEADRACE_S3_ACCESS_KEY_ID',
  'HEADRACE_S3_SECRET_ACCESS_KEY',
  'HEADRACE_API_HOST',
  'HEADRACE_METRICS_HOST',
  'HEADRACE_USER_TOKEN_ISSUER',
  'HEADRACE_USER_TOKEN_AUDIENCE',
  'HEADRACE_ACTOR',
  'HEADRACE_DROP_API_KEY',
  'HEADRACE_KAFKA_SASL_USERNAME',
  'HEADRACE_KAFKA_SASL_PASSWORD',
  'HEADRACE_KAFKA_OAUTH_CLIENT_ID',
  'HEADRACE_KAFKA_OAUTH_CLIENT_SECRET',
  'HEADRACE_KAFKA_OAUTH_SCOPE',
  'HEADRACE_MONGO_USERNAME',
  'HEADRACE_MONGO_PASSWORD',
];

describe('the configuration', () => {
  it('refuses a wrong value of each variable, by its name, and says what was expected', () => {
    for (const name of environmentVariables) {
      const wrong = anyTextGoes.includes(name) ? '' : '!? not this';
      const parse = () => parseConfig({ ...minimal, [name]: wrong });
      expect(parse, name).toThrow(ConfigError);
      expect(parse, name).toThrow(new RegExp(`^${name}: expected `));
    }
  });

  it('names every wrong variable at once', () => {
    const wrong = {
      ...minimal,
      HEADRACE_API_PORT: '70000',
      HEADRACE_PARTITIONS: '17',
      HEADRACE_SECRET: 'short',
    };
    expect(() => parseConfig(wrong)).toThrow(
      /HEADRACE_SECRET: expected 32 bytes[\s\S]*HEADRACE_API_PORT: expected 65535 or less[\s\S]*HEADRACE_PARTITIONS: expected 16 or less/,
    );
  });

  it('has as many partitions as slots at most, and only some numbers of slots', () => {
    const parse = (slots: string, partitions: string) =>
      parseConfig({ ...minimal, HEADRACE_SLOTS: slots, HEADRACE_PARTITIONS: partitions });
    expect(parse('64', '64')).toMatchObject({ slots: 64, partitions: 64 });
    expect(() => parse('64', '65')).toThrow('HEADRACE_PARTITIONS: expected 64 or less');
    expect(() => parse('24', '4')).toThrow('HEADRACE_SLOTS: expected one of 16, 32, 64, 128, 256');
  });

  it('never shows a wrong secret', () => {
    const parse = () => parseConfig({ ...minimal, HEADRACE_SECRET: 'hunter2' });
    expect(parse).toThrow('HEADRACE_SECRET');
    expect(parse).not.toThrow('hunter2');
  });

  it('is frozen, typed, and leaves other programs’ variables alone', () => {
    const config = parseConfig({ ...minimal, PATH: '/bin', HEADRACE_KAFKA_BROKERS: 'a:1,b:2' });
    expect(config).toMatchObject({
      kafkaBrokers: ['a:1', 'b:2'],
      s3Region: 'us-east-1',
      maxInvalidShare: 0.05,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('takes keys of user tokens over https, and over http from this machine only', () => {
    const at = (url: string) =>
      parseConfig({
        ...minimal,
        HEADRACE_USER_TOKEN_JWKS_URL: url,
        HEADRACE_USER_TOKEN_ISSUER: 'https://login.example.com/',
      });
    for (const url of [
      'https://login.example.com/jwks',
      'http://localhost:1/',
      'http://127.0.0.1/',
      'http://[::1]/',
    ])
      expect(at(url).userTokenJwksUrl).toBe(url);
    for (const url of [
      'http://login.example.com/',
      'http://127.0.0.1.example.com/',
      'http://10.0.0.1/',
      'ftp://localhost/',
    ])
      expect(() => at(url), url).toThrow('HEADRACE_USER_TOKEN_JWKS_URL: expected https://');
  });

  it.each([
    [{ HEADRACE_KAFKA_TLS_CA_FILE: thisFile }, 'HEADRACE_KAFKA_TLS: expected 1'],
    [
      { HEADRACE_KAFKA_TLS: '1', HEADRACE_KAFKA_TLS_CERT_FILE: thisFile },
      'HEADRACE_KAFKA_TLS_KEY_FILE: expected a value, because HEADRACE_KAFKA_TLS_CERT_FILE is set',
    ],
    [
      { HEADRACE_KAFKA_SASL_MECHANISM: 'PLAIN', HEADRACE_KAFKA_SASL_USERNAME: 'u' },
      'HEADRACE_KAFKA_SASL_PASSWORD: expected a value, because HEADRACE_KAFKA_SASL_MECHANISM is PLAIN',
    ],
    [
      { HEADRACE_KAFKA_SASL_MECHANISM: 'OAUTHBEARER' },
      'HEADRACE_KAFKA_OAUTH_TOKEN_URL: expected a value, because HEADRACE_KAFKA_SASL_MECHANISM is OAUTHBEARER',
    ],
    [
      { HEADRACE_KAFKA_SASL_PASSWORD: 'p' },
      'HEADRACE_KAFKA_SASL_MECHANISM: expected a value, because HEADRACE_KAFKA_SASL_PASSWORD is set',
    ],
    [
      { HEADRACE_USER_TOKEN_JWKS_URL: 'https://login.example.com/' },
      'HEADRACE_USER_TOKEN_ISSUER: expected a value, because HEADRACE_USER_TOKEN_JWKS_URL is set',
    ],
    [
      { HEADRACE_USER_TOKEN_ISSUER: 'https://login.example.com/' },
      'HEADRACE_USER_TOKEN_JWKS_URL: expected a value, because HEADRACE_USER_TOKEN_ISSUER is set',
    ],
    [
      { HEADRACE_MONGO_PASSWORD: 'p' },
      'HEADRACE_MONGO_USERNAME: expected a value, because HEADRACE_MONGO_PASSWORD is set',
    ],
  ])('names the setting that %j lacks', (settings, message) => {
    expect(() => parseConfig({ ...minimal, ...settings })).toThrow(message);
  });

  it('reads every secret from a file, without the last line end', () => {
    const folder = temporaryFolder();
    for (const name of secretVariables) {
      const file = join(folder, name);
      const value = minimal[name] ?? randomBytes(32).toString('base64');
      writeFileSync(file, `${value}\n`);
      const given = { ...minimal, ...beside[name], [name]: value };
      const inFile = { ...given, [name]: undefined, [`${name}_FILE`]: file };
      expect(parseConfig(inFile), name).toEqual(parseConfig(given));
      expect(() => parseConfig({ ...given, [`${name}_FILE`]: file })).toThrow(
        `${name}_FILE: expected only one`,
      );
      expect(() => parseConfig({ ...inFile, [`${name}_FILE`]: `${file}.gone` })).toThrow(
        `${name}_FILE: expected a file that can be read (ENOENT)`,
      );
    }
  });

  it.each([
    ['api', ['HEADRACE_KAFKA_BROKERS', 'HEADRACE_MONGO_URL', 'HEADRACE_S3_BUCKET', 'HEADRACE_SECRET']],
    ['pipeline', ['HEADRACE_KAFKA_BROKERS', 'HEADRACE_MONGO_URL', 'HEADRACE_S3_BUCKET', 'HEADRACE_SECRET']],
    ['admin', ['HEADRACE_MONGO_URL', 'HEADRACE_S3_BUCKET', 'HEADRACE_SECRET']],
    ['operator', ['HEADRACE_KAFKA_BROKERS', 'HEADRACE_MONGO_URL']],
  ] as const)('requires of %s only %j', (role, required) => {
    const missing = (() => {
      try {
        return parseConfig({}, role);
      } catch (error) {
        return (error as Error).message.match(/^HEADRACE_\w+/gm);
      }
    })();
    expect(missing).toEqual(required);
    const needed = Object.fromEntries(required.map((name) => [name, minimal[name]]));
    expect(() => parseConfig(needed, role)).not.toThrow();
  });

  it.each([
    ['admin', 'HEADRACE_KAFKA_SASL_PASSWORD', 'kafkaSaslPassword'],
    ['operator', 'HEADRACE_SECRET', 'secret'],
    ['operator', 'HEADRACE_S3_SECRET_ACCESS_KEY', 's3SecretAccessKey'],
  ] as const)('does not let %s have %s, whatever it is', (role, name, property) => {
    expect(parseConfig({ ...minimal, [name]: 'x' }, role)).not.toHaveProperty(property);
    expect(parseConfig({ ...minimal, [`${name}_FILE`]: '/gone' }, role)).not.toHaveProperty(property);
  });

  it('ignores the variables of a partner’s commands', () => {
    const ofPartner = Object.fromEntries(Object.values(clientVariables).map((name) => [name, 'x']));
    expect(parseConfig({ ...minimal, ...ofPartner })).toEqual(parseConfig(minimal));
  });
});
