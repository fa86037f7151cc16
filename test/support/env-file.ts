import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { settingsReference } from '../../schemas/settings-reference.ts';

export function readEnvFile(url: URL): Record<string, string> {
  return parseEnv(readFileSync(url, 'utf8')) as Record<string, string>;
}

/** deploy/config/minimal.env or the printed reference, with real secrets: the service refuses the example secrets. */
export function readConfigFile(name: 'minimal.env' | 'reference'): Record<string, string> {
  const env =
    name === 'reference'
      ? (parseEnv(settingsReference()) as Record<string, string>)
      : readEnvFile(new URL(`../../deploy/config/${name}`, import.meta.url));
  for (const name of Object.keys(env)) {
    if (/_SECRET$/.test(name)) env[name] = randomBytes(32).toString('base64');
    if (env[name] === 'change-me') env[name] = 'of-our-own';
  }
  return env;
}
