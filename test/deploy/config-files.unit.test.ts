import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { environmentVariables, parseConfig } from '../../schemas/config.ts';
import { readEnvFile } from '../support/env-file.ts';

const file = (name: string) => new URL(`../../deploy/config/${name}`, import.meta.url);

describe('deploy/config', () => {
  test('minimal.env holds all that has no default', () => {
    expect(parseConfig(readEnvFile(file('minimal.env'))).apiPort).toBe(8080);
  });

  test('minimal.env holds nothing that could be left out', () => {
    const minimal = readEnvFile(file('minimal.env'));
    for (const name of Object.keys(minimal)) {
      expect(() => parseConfig({ ...minimal, [name]: undefined }), name).toThrow(name);
    }
  });

  test('reference.env names every variable and no other, each with a value or as an example', () => {
    const named = readFileSync(file('reference.env'), 'utf8').matchAll(/^(?:# )?(HEADRACE_\w+)=/gm);
    expect([...named].map(([, name]) => name).sort()).toEqual([...environmentVariables].sort());
  });

  test('what reference.env gives as a default is the default', () => {
    const reference = parseConfig(readEnvFile(file('reference.env')));
    const minimal = parseConfig(readEnvFile(file('minimal.env')));
    expect({ ...reference, userTokenSecret: undefined }).toEqual({ ...minimal, userTokenSecret: undefined });
  });

  test('a wrong value and an unknown name are told by their variable', () => {
    const minimal = readEnvFile(file('minimal.env'));
    expect(() => parseConfig({ ...minimal, HEADRACE_API_PORT: 'many' })).toThrow(
      'HEADRACE_API_PORT: expected a whole number',
    );
    expect(() => parseConfig({ ...minimal, HEADRACE_API_PROT: '1' })).toThrow(
      'HEADRACE_API_PROT: there is no such setting',
    );
  });
});
