import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

export function readEnvFile(url: URL): Record<string, string> {
  return parseEnv(readFileSync(url, 'utf8')) as Record<string, string>;
}

/** A file of deploy/config with secrets of its own in the place of the examples, which the service refuses. */
export function readConfigFile(name: 'minimal.env' | 'reference.env'): Record<string, string> {
  const env = readEnvFile(new URL(`../../deploy/config/${name}`, import.meta.url));
  for (const name of Object.keys(env)) {
    if (/_SECRET$/.test(name)) env[name] = randomBytes(32).toString('base64');
    if (env[name] === 'change-me') env[name] = 'of-our-own';
  }
  return env;
}
