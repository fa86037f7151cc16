import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

export function readEnvFile(url: URL): Record<string, string> {
  return parseEnv(readFileSync(url, 'utf8')) as Record<string, string>;
}
