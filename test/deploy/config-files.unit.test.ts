import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { environmentVariables, parseConfig } from '../../schemas/config.ts';
import { settingsReference } from '../../schemas/settings-reference.ts';
import { readConfigFile } from '../support/env-file.ts';

const file = (name: string) => new URL(`../../deploy/config/${name}`, import.meta.url);

describe('deploy/config', () => {
  test('minimal.env holds all that has no default', () => {
    expect(parseConfig(readConfigFile('minimal.env')).apiPort).toBe(8080);
  });

  test('minimal.env holds nothing that could be left out', () => {
    const minimal = readConfigFile('minimal.env');
    for (const name of Object.keys(minimal)) {
      expect(() => parseConfig({ ...minimal, [name]: undefined }), name).toThrow(name);
    }
  });

  test('the reference has every variable and no other, each with a value or as an example', () => {
    const named = settingsReference().matchAll(/^(?:# )?(HEADRACE_\w+)=(?!undefined)/gm);
    expect([...named].map(([, name]) => name).sort()).toEqual([...environmentVariables].sort());
  });

  test('what the reference gives as a default is the default', () => {
    // A floor of 0 suits a demo with few devices, and one replica a single broker; neither suits a deployment.
    const forDeployments = { privacyFloor: undefined, replicationFactor: undefined };
    const others = { secret: undefined, ...forDeployments };
    const reference = parseConfig(readConfigFile('reference'));
    const minimal = parseConfig(readConfigFile('minimal.env'));
    expect({ ...reference, ...others }).toEqual({ ...minimal, ...others });
  });

  test.each([
    ['minimal.env', readFileSync(file('minimal.env'), 'utf8')],
    ['the reference', settingsReference()],
    ['the reference with all options', settingsReference().replaceAll('# HEADRACE_', 'HEADRACE_')],
  ])('the examples of %s are refused as secrets', (_, text) => {
    const refused = 'HEADRACE_SECRET: expected your own value, not the example from deploy/config';
    expect(() => parseConfig(parseEnv(text))).toThrow(refused);
  });

  test('there are few settings', () => {
    expect(environmentVariables.length).toBeLessThanOrEqual(70);
  });

  test('a test can override a constant, with a number', () => {
    const minimal = readConfigFile('minimal.env');
    expect(parseConfig({ ...minimal, HEADRACE_TEST_S3_IDLE_MS: '7' }).s3IdleMs).toBe(7);
    expect(() => parseConfig({ ...minimal, HEADRACE_TEST_S3_IDLE_MS: 'x' })).toThrow(
      'HEADRACE_TEST_S3_IDLE_MS: expected a whole number',
    );
    expect(() => parseConfig({ ...minimal, HEADRACE_S3_IDLE_MS: '7' })).toThrow('unknown setting');
  });

  test('a wrong value and an unknown name are told by their variable', () => {
    const minimal = readConfigFile('minimal.env');
    expect(() => parseConfig({ ...minimal, HEADRACE_API_PORT: 'many' })).toThrow(
      'HEADRACE_API_PORT: expected a whole number',
    );
    expect(() => parseConfig({ ...minimal, HEADRACE_API_PROT: '1' })).toThrow(
      'HEADRACE_API_PROT: unknown setting',
    );
  });
});
