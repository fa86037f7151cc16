/** Settings of the connections to Kafka, MongoDB and S3. A description becomes the comment in `headrace config reference`. */
import { z } from 'zod';
import { endpoint, flag, httpsUrl, ownKey, readableFile, text } from './settings.ts';

const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;

export const kafka = {
  HEADRACE_KAFKA_BROKERS: z
    .string('expected host:port, or several separated by commas')
    .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'expected host:port, or several separated by commas')
    .transform((list) => list.split(','))
    .meta({ description: 'host:port, or several separated by commas. Required.', example: 'kafka:9092' }),
  HEADRACE_KAFKA_TLS: flag.describe('1: connect with TLS.'),
  HEADRACE_KAFKA_TLS_CA_FILE: readableFile.optional().meta({
    description: 'CA of the brokers’ certificates (PEM). Unset: the CAs that Node.js trusts.',
    example: '/etc/headrace/kafka-ca.pem',
  }),
  HEADRACE_KAFKA_TLS_CERT_FILE: readableFile.optional().meta({
    description: 'Client certificate and key (PEM), for mutual TLS.',
    example: '/etc/headrace/kafka-client.pem',
  }),
  HEADRACE_KAFKA_TLS_KEY_FILE: readableFile.optional().meta({ example: '/etc/headrace/kafka-client.key' }),
  HEADRACE_KAFKA_SASL_MECHANISM: z
    .enum(saslMechanisms, `expected one of ${saslMechanisms.join(', ')}`)
    .optional()
    .meta({
      description:
        'PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, with user and password; or OAUTHBEARER, with the token endpoint below.',
      example: 'SCRAM-SHA-512',
    }),
  HEADRACE_KAFKA_SASL_USERNAME: text('a user name').optional().meta({ example: 'headrace' }),
  HEADRACE_KAFKA_SASL_PASSWORD: ownKey('a password').optional().meta({ example: 'change-me' }),
  HEADRACE_KAFKA_OAUTH_TOKEN_URL: httpsUrl.optional().meta({
    description: 'Token endpoint for client credentials: https, or http for localhost.',
    example: 'https://login.example.com/oauth2/token',
  }),
  HEADRACE_KAFKA_OAUTH_CLIENT_ID: text('a client id').optional().meta({ example: 'headrace' }),
  HEADRACE_KAFKA_OAUTH_CLIENT_SECRET: ownKey('a client secret').optional().meta({ example: 'change-me' }),
  HEADRACE_KAFKA_OAUTH_SCOPE: text('scopes, separated by spaces').optional().meta({ example: 'kafka' }),
};

export const mongo = {
  HEADRACE_MONGO_URL: z
    .string('expected mongodb://… or mongodb+srv://…')
    .regex(/^mongodb(\+srv)?:\/\/.+/, 'expected mongodb://… or mongodb+srv://…')
    .meta({
      description:
        'mongodb://… or mongodb+srv://…, a replica set or a sharded cluster, with any option of the driver (tls, tlsCAFile, authSource). Required.',
      example: 'mongodb://mongo:27017/?replicaSet=rs0',
    }),
  HEADRACE_MONGO_DATABASE: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,60}$/, 'expected a database name of letters, digits, dash or underscore')
    .default('headrace'),
  HEADRACE_MONGO_USERNAME: text('a user name').optional().meta({
    description: 'User and password, if they are not in the URL.',
    example: 'headrace',
  }),
  HEADRACE_MONGO_PASSWORD: ownKey('a password').optional().meta({ example: 'change-me' }),
};

export const storage = {
  HEADRACE_S3_ENDPOINT: endpoint.describe('http(s)://host[:port]; empty: AWS.'),
  HEADRACE_S3_PUBLIC_ENDPOINT: endpoint.describe(
    'Public address of the same storage, for uploads by browsers in the console; empty: HEADRACE_S3_ENDPOINT.',
  ),
  HEADRACE_PARTNER_S3_ENDPOINT: endpoint.describe(
    'Endpoint of partners’ own buckets (path_type 1); empty: AWS.',
  ),
  HEADRACE_S3_REGION: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'expected a region such as us-east-1')
    .default('us-east-1'),
  HEADRACE_S3_BUCKET: z
    .string('expected the name of the shared bucket')
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected the name of the shared bucket')
    .meta({
      description: 'The shared bucket, in which every partner has a prefix. Required.',
      example: 'headrace-shared',
    }),
  HEADRACE_S3_ACCESS_KEY_ID: ownKey('an access key id').optional().meta({
    description:
      'Credentials of the service. Unset: those that the AWS SDK finds (its own variables, a web identity, the role of the machine). The pipeline lists and reads the bucket; the API signs uploads of the console, and needs s3:PutObject for them; `headrace admin partner create` issues credentials.',
    example: 'change-me',
  }),
  HEADRACE_S3_SECRET_ACCESS_KEY: ownKey('a secret access key').optional().meta({ example: 'change-me' }),
  HEADRACE_S3_ISSUER: z
    .enum(['aws', 'versitygw', 'manual'], 'expected aws, versitygw or manual')
    .default('aws')
    .describe(
      'Issuer of partners’ storage credentials: aws, versitygw, or manual (the command prints the policy).',
    ),
};

const connections = { ...kafka, ...mongo, ...storage };
const shape = z.object(connections);
export type Connections = z.output<typeof shape>;

type Name = keyof Connections;
interface Disagreement {
  name: Name;
  message: string;
}

/** Settings that need each other. */
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
