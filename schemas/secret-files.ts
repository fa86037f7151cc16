/** Secrets may be mounted as files: HEADRACE_SECRET_FILE=/run/secrets/x sets HEADRACE_SECRET to the content of the file. */
import { readFileSync } from 'node:fs';

/** Includes the URL of MongoDB, which may contain a password. */
export const secretVariables = [
  'HEADRACE_KAFKA_SASL_PASSWORD',
  'HEADRACE_KAFKA_OAUTH_CLIENT_SECRET',
  'HEADRACE_MONGO_URL',
  'HEADRACE_MONGO_PASSWORD',
  'HEADRACE_S3_ACCESS_KEY_ID',
  'HEADRACE_S3_SECRET_ACCESS_KEY',
  'HEADRACE_SECRET',
  'HEADRACE_SECRET_OLD',
  'HEADRACE_DROP_API_KEY',
] as const;

type Variables = Record<string, string | undefined>;

/** The environment with the contents of the secret files, and the problems with these files. */
export function readSecretFiles(env: Variables): { env: Variables; problems: string[] } {
  const read: Variables = { ...env };
  const problems: string[] = [];
  for (const name of secretVariables) {
    const setting = `${name}_FILE`;
    const path = env[setting];
    if (path === undefined) continue;
    delete read[setting];
    if (env[name] !== undefined) problems.push(`${setting}: expected only one of it and ${name}`);
    try {
      read[name] = readFileSync(path, 'utf8').trimEnd();
    } catch (error) {
      problems.push(
        `${setting}: expected a file that can be read (${(error as NodeJS.ErrnoException).code})`,
      );
    }
  }
  return { env: read, problems };
}
