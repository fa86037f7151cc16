import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ConfigError, environmentVariables, parseConfig } from '../../schemas/config.ts';
import { readConfigFile, readEnvFile } from '../support/env-file.ts';

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

  test('reference.env names every variable and no other, each with a value or as an example', () => {
    const named = readFileSync(file('reference.env'), 'utf8').matchAll(/^(?:# )?(HEADRACE_\w+)=/gm);
    expect([...named].map(([, name]) => name).sort()).toEqual([...environmentVariables].sort());
  });

  test('what reference.env gives as a default is the default', () => {
    // A floor of 0 suits a demo with few devices, one replica suits a single broker; neither suits a deployment.
    const forDeployments = { privacyFloor: undefined, replicationFactor: undefined };
    const others = { secret: undefined, ...forDeployments };
    const reference = parseConfig(readConfigFile('reference.env'));
    const minimal = parseConfig(readConfigFile('minimal.env'));
    expect({ ...reference, ...others }).toEqual({ ...minimal, ...others });
  });

  test.each(['minimal.env', 'reference.env'])(
    'the example secret of %s is refused, and nothing else of it',
    (name) => {
      const refused = 'HEADRACE_SECRET: expected your own value, not the example from deploy/config';
      expect(() => parseConfig(readEnvFile(file(name)))).toThrow(new ConfigError(refused));
    },
  );

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
