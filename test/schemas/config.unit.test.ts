import { describe, expect, it } from 'vitest';
import { clientVariables } from '../../schemas/client-variables.ts';
import {
  ConfigError,
  type EnvironmentVariable,
  environmentVariables,
  parseConfig,
} from '../../schemas/config.ts';
import { readConfigFile } from '../support/env-file.ts';

const minimal = readConfigFile('minimal.env');

/** What any variable but these refuses. */
const anyTextGoes: EnvironmentVariable[] = [
  'HEADRACE_S3_ACCESS_KEY_ID',
  'HEADRACE_S3_SECRET_ACCESS_KEY',
  'HEADRACE_API_HOST',
  'HEADRACE_API_METRICS_HOST',
  'HEADRACE_PIPELINE_HOST',
  'HEADRACE_USER_TOKEN_ISSUER',
  'HEADRACE_USER_TOKEN_AUDIENCE',
  'HEADRACE_ACTOR',
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

  it('refuses one secret for two purposes', () => {
    const twice = { ...minimal, HEADRACE_USER_TOKEN_SECRET: minimal.HEADRACE_SECRET };
    expect(() => parseConfig(twice)).toThrow(
      /^HEADRACE_USER_TOKEN_SECRET: expected a different secret from HEADRACE_SECRET$/,
    );
  });

  it('takes keys of user tokens over https, and over http from this machine only', () => {
    const at = (url: string) => parseConfig({ ...minimal, HEADRACE_USER_TOKEN_JWKS_URL: url });
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

  it('ignores the variables of a partner’s commands', () => {
    const ofPartner = Object.fromEntries(Object.values(clientVariables).map((name) => [name, 'x']));
    expect(parseConfig({ ...minimal, ...ofPartner })).toEqual(parseConfig(minimal));
  });
});
