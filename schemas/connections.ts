/** The settings of the connections to Kafka, MongoDB and S3. */
import { z } from 'zod';
import { endpoint, flag, httpsUrl, ownKey, readableFile, text } from './settings.ts';

export const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;

export const connections = {
  HEADRACE_KAFKA_BROKERS: z
    .string('expected host:port, or several separated by commas')
    .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'expected host:port, or several separated by commas')
    .transform((list) => list.split(',')),
  HEADRACE_KAFKA_TLS: flag,
  /** Those who sign the brokers' certificates; without it, those that Node.js trusts. */
  HEADRACE_KAFKA_TLS_CA_FILE: readableFile.optional(),
  /** Our own certificate and its key, for brokers that ask for one. */
  HEADRACE_KAFKA_TLS_CERT_FILE: readableFile.optional(),
  HEADRACE_KAFKA_TLS_KEY_FILE: readableFile.optional(),
  HEADRACE_KAFKA_SASL_MECHANISM: z
    .enum(saslMechanisms, `expected one of ${saslMechanisms.join(', ')}`)
    .optional(),
  HEADRACE_KAFKA_SASL_USERNAME: text('a user name').optional(),
  HEADRACE_KAFKA_SASL_PASSWORD: ownKey('a password').optional(),
  /** OAUTHBEARER: where tokens are got with the client credentials. */
  HEADRACE_KAFKA_OAUTH_TOKEN_URL: httpsUrl.optional(),
  HEADRACE_KAFKA_OAUTH_CLIENT_ID: text('a client id').optional(),
  HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: ownKey('a client secret').optional(),
  HEADRACE_KAFKA_OAUTH_SCOPE: text('scopes, separated by spaces').optional(),

  HEADRACE_MONGO_URL: z
    .string('expected mongodb://… or mongodb+srv://…')
    .regex(/^mongodb(\+srv)?:\/\/.+/, 'expected mongodb://… or mongodb+srv://…'),
  HEADRACE_MONGO_DATABASE: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,60}$/, 'expected a database name of letters, digits, dash or underscore')
    .default('headrace'),
  /** Instead of a user and a password in the URL. */
  HEADRACE_MONGO_USERNAME: text('a user name').optional(),
  HEADRACE_MONGO_PASSWORD: ownKey('a password').optional(),

  HEADRACE_S3_ENDPOINT: endpoint,
  /** The S3 endpoint of partners' own buckets. */
  HEADRACE_PARTNER_S3_ENDPOINT: endpoint,
  HEADRACE_S3_REGION: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'expected a region such as us-east-1')
    .default('us-east-1'),
  HEADRACE_S3_BUCKET: z
    .string('expected the name of the shared bucket')
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected the name of the shared bucket'),
  /** Without them, the credentials that the AWS SDK finds: in its own variables, of a web identity, of the machine's role. */
  HEADRACE_S3_ACCESS_KEY_ID: ownKey('an access key id').optional(),
  HEADRACE_S3_SECRET_ACCESS_KEY: ownKey('a secret access key').optional(),
  /** Which system issues partners' storage credentials; `manual`: the operator does it himself. */
  HEADRACE_S3_ISSUER: z
    .enum(['aws', 'versitygw', 'manual'], 'expected aws, versitygw or manual')
    .default('aws'),
};

const shape = z.object(connections);
export type Connections = z.output<typeof shape>;

type Name = keyof Connections;
export interface Disagreement {
  name: Name;
  message: string;
}

/** What each setting alone cannot tell: settings that need each other. */
export function disagreements(env: Partial<Connections>): Disagreement[] {
  const found: Disagreement[] = [];
  const need = (name: Name, because: string) => {
    if (env[name] === undefined || env[name] === false)
      found.push({ name, message: `expected a value, because ${because}` });
  };
  const together = (a: Name, b: Name) => {
    if (env[a] !== undefined) need(b, `${a} is set`);
    if (env[b] !== undefined) need(a, `${b} is set`);
  };
  together('HEADRACE_KAFKA_TLS_CERT_FILE', 'HEADRACE_KAFKA_TLS_KEY_FILE');
  together('HEADRACE_MONGO_USERNAME', 'HEADRACE_MONGO_PASSWORD');
  together('HEADRACE_S3_ACCESS_KEY_ID', 'HEADRACE_S3_SECRET_ACCESS_KEY');
  for (const name of ['HEADRACE_KAFKA_TLS_CA_FILE', 'HEADRACE_KAFKA_TLS_CERT_FILE'] as const)
    if (env[name] !== undefined && !env.HEADRACE_KAFKA_TLS)
      found.push({ name: 'HEADRACE_KAFKA_TLS', message: `expected 1, because ${name} is set` });
  const mechanism = env.HEADRACE_KAFKA_SASL_MECHANISM;
  const because = `HEADRACE_KAFKA_SASL_MECHANISM is ${mechanism}`;
  const ofOauth = [
    'HEADRACE_KAFKA_OAUTH_TOKEN_URL',
    'HEADRACE_KAFKA_OAUTH_CLIENT_ID',
    'HEADRACE_KAFKA_OAUTH_CLIENT_SECRET',
  ] as const;
  const ofPassword = ['HEADRACE_KAFKA_SASL_USERNAME', 'HEADRACE_KAFKA_SASL_PASSWORD'] as const;
  if (mechanism === 'OAUTHBEARER') for (const name of ofOauth) need(name, because);
  else if (mechanism) for (const name of ofPassword) need(name, because);
  else
    for (const name of [...ofPassword, ...ofOauth])
      if (env[name] !== undefined) need('HEADRACE_KAFKA_SASL_MECHANISM', `${name} is set`);
  return found;
}
